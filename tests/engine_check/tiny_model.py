"""Make a model that a CPU serves at a hundred tokens a second or less: `tiny_model.py FOLDER`.

Random, and each time the same. Runs in the engine's environment. Qwen3 with a byte-level tokenizer for every id of its
vocabulary, so that each token has a text. 200 MB, for its slowness: a stream must last as long as a check looks at it,
and one of a faster model ends at its context's end.
"""

import inspect
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

WORDS = 512
TEMPLATE = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"


def main(folder: str) -> None:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=WORDS, initial_alphabet=alphabet, special_tokens=["<eos>"])
    made.train_from_iterator([inspect.getsource(inspect)], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>", chat_template=TEMPLATE)  # noqa: S106 - a token of text
    torch.manual_seed(0)
    shape = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=8,
        num_attention_heads=16,
        num_key_value_heads=4,
        head_dim=64,
        max_position_embeddings=16384,
    )
    Qwen3ForCausalLM(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main(sys.argv[1])
