SPEC = "not a Spec"
