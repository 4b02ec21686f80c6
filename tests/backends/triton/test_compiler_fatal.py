"""LLVM ends a compilation at what it lacks: its sentence, in the words of kernel files."""

from __future__ import annotations

from pathlib import Path

from grader.backends.triton import compile_ttir

# As Triton 3.7.1 prints them for a conversion to float8_e4m3fn on a GPU of capability 7.5.
LOG = """\
LLVM ERROR: Conversion from/to f8e4m3nv is only supported on compute capability >= 89

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], order = [0]}>
"""
SENTENCE = "Conversion from/to float8_e4m3fn is only supported on compute capability 8.9 and newer"
TEXT = """module {
  tt.func public @add(%x: !tt.ptr<f32>) attributes {noinline = false} {
    %lanes = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32> loc(#loc2)
    %0 = tt.splat %x : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>> loc(#loc2)
    %1 = tt.addptr %0, %lanes : tensor<4x!tt.ptr<f32>>, tensor<4xi32> loc(#loc2)
    %2 = tt.load %1 : tensor<4x!tt.ptr<f32>> loc(#loc2)
    %3 = tt.fp_to_fp %2, rounding = rtne : tensor<4xf32> -> tensor<4xf8E4M3FN> loc(#loc3)
    %4 = tt.fp_to_fp %3 : tensor<4xf8E4M3FN> -> tensor<4xf32> loc(#loc4)
    tt.store %1, %4 : tensor<4x!tt.ptr<f32>> loc(#loc4)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc("/home/kernel-1/kernel.py":7:0)
#loc2 = loc("/home/kernel-1/kernel.py":8:3)
#loc3 = loc("/home/kernel-1/kernel.py":9:3)
#loc4 = loc("/home/kernel-1/kernel.py":10:3)
"""
# What Python raises then says nothing.
ERROR = RuntimeError("Failures have been detected while processing an MLIR pass pipeline")


def log(folder: Path, text: str = LOG) -> Path:
    path = folder / "errors.txt"
    path.write_text(text)
    return path


def test_a_type_that_llvm_lacks_is_refused_at_the_first_line_that_has_it(tmp_path: Path):
    refused = compile_ttir._diagnosed(log(tmp_path), ERROR, TEXT)
    assert (str(refused), refused.line) == (SENTENCE, 9)


def test_another_sentence_of_llvm_s_has_no_line(tmp_path: Path):
    said = log(tmp_path, "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.something\n")
    refused = compile_ttir._diagnosed(said, ERROR, TEXT)
    assert (str(refused), refused.line) == ("Cannot select: intrinsic %llvm.nvvm.something", None)


def test_a_process_that_llvm_aborts_leaves_its_sentence(tmp_path: Path):
    assert str(compile_ttir._crash(log(tmp_path))) == SENTENCE
