#!/usr/bin/env bash
# Gradescope runs this once, when it builds the image. The course lies beside it.
set -euo pipefail
python=python3
# Ubuntu 22.04's own Python is too old; it has a newer one beside it.
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || python=python3.11
apt-get update
apt-get install -y --no-install-recommends "$python" "$python-venv"
"$python" -m venv /autograder/venv
cd /autograder/source/course
# PyTorch's build without CUDA saves some gigabytes.
TORCH_INDEX=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}
/autograder/venv/bin/python -m pip install --no-cache-dir -r requirements.txt \
    --extra-index-url "$TORCH_INDEX"
