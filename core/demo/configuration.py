"""Labels of `vllm:cache_config_info`, as two vLLM versions export them.

Every value is text, written the way Python prints it.
"""

from core.demo.fleet import Engine

BLOCK_TOKENS = 16
GPU_MEMORY = ("0.9", "0.92")
"""`gpu_memory_utilization` before a restart and after it, in turns."""
MORE_BLOCKS = 1.055
"""Blocks gained by the larger of the two: weights take no more, so KV gets it all."""
LONGEST_CONTEXT_TOKENS = 32_768

_BOTH = {
    "_block_size_resolved": "True",
    "block_size": str(BLOCK_TOKENS),
    "cache_dtype": "auto",
    "enable_prefix_caching": "True",
    "is_attention_free": "False",
    "kv_cache_dtype_skip_layers": "[]",
    "kv_cache_memory_bytes": "None",
    "kv_offloading_backend": "native",
    "kv_offloading_size": "None",
    "kv_sharing_fast_prefill": "False",
    "mamba_block_size": "None",
    "mamba_cache_dtype": "auto",
    "mamba_cache_mode": "none",
    "num_cpu_blocks": "None",
    "num_gpu_blocks_override": "None",
    "prefix_caching_hash_algo": "sha256",
    "prefix_match_unit": "None",
    "sliding_window": "None",
    "user_specified_block_size": "False",
}
_ONLY = {
    "0.26.0": {"calculate_kv_scales": "False", "mamba_ssm_cache_dtype": "auto"},
    "0.32.0": {
        "cache_hit_alignment_tokens": "None",
        "effective_attention_block_size": str(BLOCK_TOKENS),
        "hash_block_size": "None",
        "kv_cache_layout": "None",
        "mamba_ssm_cache_dtype": "float32",
        "prefix_cache_retention_interval": "0",
    },
}


def configuration_labels(engine: Engine, *, restarts: int) -> dict[str, str]:
    """What an engine says about its cache after so many restarts; it names no model."""
    larger = restarts % 2
    blocks = round(engine.model.gpu_blocks * (MORE_BLOCKS if larger else 1))
    tokens = blocks * BLOCK_TOKENS
    return (
        engine.target_labels
        | _BOTH
        | _ONLY[engine.vllm]
        | {
            "engine": engine.engine,
            "gpu_memory_utilization": GPU_MEMORY[larger],
            "num_gpu_blocks": str(blocks),
            "kv_cache_size_tokens": str(tokens),
            "kv_cache_max_concurrency": str(tokens / LONGEST_CONTEXT_TOKENS),
        }
    )
