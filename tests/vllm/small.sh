#!/usr/bin/env bash
# The small benchmark on a real vLLM, from the command line; with `page`, launched from the page
# in a browser. Installs vLLM unless VLLM names one.
set -euo pipefail
cd "$(dirname "$0")/../.."
how=${1:-command-line}

if [ -z "${VLLM:-}" ]; then
    tests/vllm/install.sh .venv-vllm
    VLLM=.venv-vllm/bin/vllm
fi
if ! vllm=$(command -v "$VLLM"); then
    echo "VLLM=$VLLM is no program." >&2
    exit 2
fi
python=$(dirname "$(realpath "$vllm")")/python
[ -x "$python" ] || python=$(sed -n '1s/^#! *//p' "$vllm")
folder=$PWD/data/vllm
model=$folder/tiny-model
if [ ! -e "$model/model.safetensors" ]; then
    echo "Making a tiny model ..."
    rm -rf "$model"
    HF_HUB_OFFLINE=1 $python tests/vllm/tiny_model.py "$model"
fi

export PREFIXWATCH_DATA_DIR=$folder PREFIXWATCH_BENCH_LAUNCH=true
export PREFIXWATCH_BENCH_TARGETS='["managed"]'
PREFIXWATCH_BENCH_VLLM=$(realpath --no-symlinks "$vllm")
export PREFIXWATCH_BENCH_VLLM
if [ "$how" = page ]; then
    exec .venv/bin/python tests/vllm/from_page.py "$model" "$folder/pictures"
fi
.venv/bin/python -m core.bench plan --preset small --model tiny --tokenizer "$model" \
    --weights "$model" --output "$folder/plan.json"
echo "Running; 12 servers are started one after the other, about a minute each on a quiet computer."
time .venv/bin/python -m core.bench run "$folder/plan.json"
