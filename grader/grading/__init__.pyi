from . import bench as bench
from . import check as check
from . import picture as picture
from .bench import WRONG as WRONG
from .bench import Benchmark as Benchmark
from .bench import Point as Point
from .check import LARGEST_FILE as LARGEST_FILE
from .check import Request as Request
