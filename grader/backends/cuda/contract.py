"""Names of cuda.core that launches, dry runs and the compiler rely on."""

from __future__ import annotations

from grader.backends.cuda import BACKEND
from grader.worker.requirements import Library, touchpoints

(CORE,) = BACKEND.packages
_PROGRAMS = "backends/cuda/programs.py"
_LAUNCHES = "backends/cuda/launches.py"
_RECORDING = "backends/cuda/recording.py"
_STAND_INS = "backends/cuda/stand_ins.py"
_DRY_RUN = "backends/cuda/dry_run.py"
_REFUSED = "backends/cuda/refused_names.py"

COMPILED = Library(
    CORE,
    (
        *touchpoints("cuda.core", _LAUNCHES, "launch(stream, config, kernel)"),
        *touchpoints(
            "cuda.core._module",
            _LAUNCHES,
            *("KernelAttributes.num_regs", "KernelAttributes.local_size_bytes"),
            *("KernelAttributes.shared_size_bytes", "Kernel.attributes", "Kernel.handle"),
            *("KernelAttributes.max_dynamic_shared_size_bytes", "Kernel.arguments_info"),
        ),
        *touchpoints("cuda.bindings.driver", _LAUNCHES, "cuKernelGetName"),
        *touchpoints("cuda.bindings.driver", _RECORDING, "cuMemGetAddressRange"),
        *touchpoints("cuda.core", _RECORDING, "LaunchConfig.is_cooperative"),
        *touchpoints("cuda.core", _RECORDING, "ObjectCode.code_type", "ObjectCode.code"),
        *touchpoints(
            "cuda.core",
            _PROGRAMS,
            *("Program.compile(self, target_type, name_expressions, logs)", "ProgramOptions"),
        ),
        *touchpoints("cuda.core", _REFUSED, "ObjectCode.from_cubin", "Device.create_graph_builder"),
        *touchpoints("cuda.core.graph", _REFUSED, "GraphBuilder", "GraphDefinition"),
        *touchpoints("cuda.pathfinder", _PROGRAMS, "find_nvidia_header_directory(libname)"),
    ),
)

DRY_RUN = Library(
    CORE,
    (
        *touchpoints("cuda.core", _STAND_INS, "LaunchConfig.cluster", "LaunchConfig.block"),
        *touchpoints("cuda.core", _STAND_INS, "ProgramOptions.__post_init__(self)"),
        *touchpoints("cuda.core._kernel_arg_handler", _STAND_INS, "ParamHolder"),
        *touchpoints("cuda.bindings.driver", _DRY_RUN, "cuKernelSetAttribute"),
    ),
)
