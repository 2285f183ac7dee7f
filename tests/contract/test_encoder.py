"""The contract of an encoder: unit vectors, one per text; one vector per token; the values of the reference runtime.

The values were written down from onnxruntime 1.32 on the same model file.
"""

from __future__ import annotations

import pytest
from support.meaning import needs_model

from kbtasks.errors import Unavailable
from kbtasks.index import modelfile

pytestmark = needs_model

REFERENCE = [
    ("Parser retries stop after three attempts.", [-0.01965, -0.0695, 0.06282, -0.03415, -0.06998, -0.05002], 2109),
    ("Café über naïve façade, don't!", [0.08795, 0.06234, 0.05472, -0.04908, 0.00671, -0.01546], 2074),
    ("潮汐解析说明: M2 分潮最大", [0.00194, 0.07543, 0.05645, 0.0065, 0.09044, 0.09651], 2609),
    ("🌊 emoji\u200b and \x00controls\ttabs", [-0.04395, -0.07168, 0.05259, -0.02366, 0.00568, -0.00818], 1888),
]


@pytest.fixture(scope="module")
def made() -> tuple:
    from kbtasks.index.encoder import Encoder
    from kbtasks.index.wordpiece import WordPiece

    return Encoder(modelfile.require()), WordPiece()


def test_the_installed_model_is_the_pinned_one() -> None:
    assert modelfile.verify(modelfile.require()) is None  # anything else raises


@pytest.mark.parametrize(("text", "head", "positive"), REFERENCE)
def test_values_are_those_of_the_reference_runtime(made: tuple, text: str, head: list[float], positive: int) -> None:
    encoder, tokenizer = made
    ((vector, hidden),) = encoder.encode([[101, *tokenizer.encode(text), 102]])
    assert vector[:6].tolist() == pytest.approx(head, abs=2e-4)
    assert abs(int((hidden > 0).sum()) - positive) <= 4
    assert float(vector @ vector) == pytest.approx(1, abs=1e-5)


def test_a_batch_gives_what_each_text_gives_alone(made: tuple) -> None:
    encoder, tokenizer = made
    texts = [[101, *tokenizer.encode(text), 102] for text, _, _ in REFERENCE] * 3
    texts.append([101, *tokenizer.encode("gauge " * 510), 102])
    together = [vector for vector, _ in encoder.encode(texts)]
    for ids, vector in zip(texts, together, strict=True):
        ((alone, hidden),) = encoder.encode([ids])
        assert float(alone @ vector) == pytest.approx(1, abs=1e-4)
        assert hidden.shape == (len(ids), 384)


def test_the_first_pass_gives_what_later_ones_give(made: tuple) -> None:
    from kbtasks.index.encoder import Encoder

    fresh, tokenizer = Encoder(modelfile.require()), made[1]
    text = [101, *tokenizer.encode("gauges of the harbour, 港湾"), 102]
    first, second, third = (fresh.tokens([text])[0] for _ in range(3))
    assert first.tolist() == second.tolist() == third.tolist()


def test_meaning_is_nearer_than_words(made: tuple) -> None:
    encoder, tokenizer = made
    texts = ["monetary policy", "The central bank raised interest rates.", "The cat sat on the warm mat."]
    query, near, far = (vector for vector, _ in encoder.encode([[101, *tokenizer.encode(t), 102] for t in texts]))
    assert float(query @ near) > float(query @ far) + 0.2


def test_a_file_that_is_not_the_model_is_refused(tmp_path) -> None:
    from kbtasks.index.encoder import Encoder

    other = tmp_path / "model.onnx"
    for data in (b"x", b"\x3a\x7f\x2a", b"\x3a\x05\x2a\x03\x42\x01\x61", bytes(range(256)) * 20):
        other.write_bytes(data)
        with pytest.raises(Unavailable, match="not the pinned file"):
            modelfile.verify(str(other))
        with pytest.raises(Unavailable):
            Encoder(str(other))
