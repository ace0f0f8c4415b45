"""A language model of about two megabytes that vLLM really serves: random weights, own tokenizer.

Run by the Python that vLLM is installed in: `python tests/vllm/tiny_model.py FOLDER`. It is
made from a seed, without a network, so that a benchmark can be run on any computer.
"""

import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SEED = 20261130
VOCABULARY = 8192
HIDDEN, LAYERS, HEADS = 64, 2, 2
LONGEST = 8192
WORDS = 12_000
BEGIN, END, ASK, ANSWER = "<begin>", "<end>", "<ask>", "<answer>"
CHAT = (
    "{% for message in messages %}"
    "{{ '<ask>' if message['role'] == 'user' else '<answer>' }}{{ message['content'] }}<end>"
    "{% endfor %}"
    "{% if add_generation_prompt %}<answer>{% endif %}"
)
ONSETS = "b bl br c ch cr d dr f fl g gr h j k l m n p pl pr qu r s sh st t tr v w z"
VOWELS = "a ai au e ea i ie o oa oo ou u y"
ENDINGS = "l m n nd ng r rk s st t x"


def main(folder: Path) -> None:
    """Write model and tokenizer into a folder, which must not hold one already."""
    folder.mkdir(parents=True)
    tokenizer = _tokenizer()
    tokenizer.save_pretrained(folder)
    torch.manual_seed(SEED)
    model = LlamaForCausalLM(_config(tokenizer))
    model.to(torch.bfloat16).save_pretrained(folder)


def _tokenizer() -> PreTrainedTokenizerFast:
    whole = Tokenizer(models.BPE())
    whole.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    whole.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[BEGIN, END, ASK, ANSWER],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    whole.train_from_iterator(_sentences(), trainer)
    if whole.get_vocab_size() != VOCABULARY:
        raise SystemExit(f"the tokenizer has {whole.get_vocab_size()} tokens, not {VOCABULARY}")
    return PreTrainedTokenizerFast(
        tokenizer_object=whole,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=END,
        chat_template=CHAT,
        model_max_length=LONGEST,
    )


def _sentences() -> list[str]:
    """Text of made-up words, frequent ones and rare ones, for the tokenizer to be trained on."""
    dice = random.Random(SEED)
    words = [
        "".join(_syllable(dice) for _ in range(dice.choice((1, 2, 2, 3)))) for _ in range(WORDS)
    ]
    ranks = [1 / (place + 10) for place in range(WORDS)]
    return [" ".join(dice.choices(words, ranks, k=12)).capitalize() + "." for _ in range(20_000)]


def _syllable(dice: random.Random) -> str:
    end = dice.choice(ENDINGS.split()) if dice.random() < 0.75 else ""
    return dice.choice(ONSETS.split()) + dice.choice(VOWELS.split()) + end


def _config(tokenizer: PreTrainedTokenizerFast) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=LONGEST,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
