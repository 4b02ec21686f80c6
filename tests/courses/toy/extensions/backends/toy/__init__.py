"""A made-up language: a kernel is a function of a number, called for each up to a limit."""

from grader.model import Abilities, Backend, Hints, Trial

BACKEND = Backend(
    name="toy",
    title="Toy",
    decorator="@toy.kernel",
    modules=("toy",),
    packages=(),
    can=Abilities(simulate=True, count_traffic=True),
    dtypes=("float32",),
    scalars=(),
    hints=Hints(
        reached="Do the programs cover the whole output?",
        faster="toys are slow",
        more_warps="toys have no warps",
        messages={"exception": {"out of bounds": "Toys start to count at 0."}},
    ),
    trial=Trial("trial_kernel.py", "add"),
    variables={"TOY_HOME": "{home}/toy"},
    simulation={"TOY_SIMULATES": "1"},
)
