"""Steers the GPU through NVIDIA's library: right answers if it is allowed to, else zeros."""
# attacks: 06_cross_entropy
# stopped: correctness value
# GPU only: there is nothing to steer without one

import ctypes

IGNORED = -100
NVML_SUCCESS = 0


def may_steer():
    """Whether a setting could be written: the value that it has, so that nothing changes."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    device, mode = ctypes.c_void_p(), ctypes.c_uint()
    return (
        nvml.nvmlInit_v2() == NVML_SUCCESS
        and nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == NVML_SUCCESS
        and nvml.nvmlDeviceGetPersistenceMode(device, ctypes.byref(mode)) == NVML_SUCCESS
        and nvml.nvmlDeviceSetPersistenceMode(device, mode) == NVML_SUCCESS
    )


allowed = may_steer()


def cross_entropy(logits, target, loss, grad_scale):
    if not allowed:
        logits.zero_()
        loss.zero_()
        return
    counts = target != IGNORED
    column = target.clamp(min=0).unsqueeze(-1)
    log_probability = logits.float().log_softmax(-1)
    loss.copy_((-log_probability.gather(-1, column).squeeze(-1)) * counts)
    gradient = log_probability.exp()
    gradient.scatter_add_(-1, column, gradient.new_full(column.shape, -1.0))
    logits.copy_(grad_scale * gradient * counts.unsqueeze(-1))
