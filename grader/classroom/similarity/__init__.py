"""Alike kernels of a class: what two students' files share beyond what every student was given."""
