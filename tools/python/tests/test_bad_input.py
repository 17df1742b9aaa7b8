"""What an argument cannot be is refused by a zeroulp.Error that names it."""

import numpy as np
import pytest
import zeroulp

X = np.random.default_rng(5).standard_normal((4, 256)).astype(np.float32)
Q = zeroulp.quantize(X)
BLOCKS = zeroulp.quantize(X, group="128x128")

BAD = {
    "text": "abc", "bytes": b"abc", "dict": {}, "set": {1}, "object": object(),
    "ragged": [[1, 2], [3]], "complex": X.astype("c8"), "truth": X > 0,
    "objects": np.array([[None]]), "texts": np.array([["a"]]),
    "dates": np.array(["2020-01-01"], "M8[D]"),
    "records": np.zeros(3, [("a", "f4")]), "three bytes": np.zeros((4, 4), "V3"),
    "long double": X.astype("longdouble"), "signed": X.astype("i4"),
    "big-endian": X.astype(">f4"), "masked": np.ma.masked_array(X, X > 0),
}
ARRAYS = {
    "x": [zeroulp.quantize, zeroulp.encode,
          lambda x: zeroulp.explain(Q, "vllm", x),
          lambda x: zeroulp.identify.quantizer(x, Q)],
    "codes": [lambda x: zeroulp.Quantized(x, Q.scales, "e4m3"),
              lambda x: zeroulp.identify.quantizer(X, x, Q.scales)],
    "scales": [lambda x: zeroulp.Quantized(Q.codes, x, "e4m3"),
               lambda x: zeroulp.quantize(X, scales=x),
               lambda x: zeroulp.identify.quantizer(X, Q.codes, x)],
    "amax": [lambda x: zeroulp.quantize(X, amax=x)],
    "a": [lambda x: zeroulp.gemm(x, BLOCKS), lambda x: zeroulp.compare(x, X),
          lambda x: zeroulp.identify.gemm(x, Q, X)],
    "b": [lambda x: zeroulp.gemm(Q, x), lambda x: zeroulp.compare(X, x)],
    "c": [lambda x: zeroulp.gemm(Q, BLOCKS, c=x)],
    "d": [lambda x: zeroulp.identify.gemm(Q, Q, x)],
    "w": [lambda x: zeroulp.rms_norm(X, x)],
    "exact": [lambda x: zeroulp.measure_errors(X, x)],
    "q": [zeroulp.dequantize, zeroulp.retile],
}


@pytest.mark.parametrize("argument", ARRAYS)
@pytest.mark.parametrize("name", BAD)
def test_no_array_of_numbers_is_refused_by_name(argument, name):
    for call in ARRAYS[argument]:
        with pytest.raises(zeroulp.Error, match=rf"\b{argument}\b"):
            call(BAD[name])


NUMBERS = {
    "interval": lambda x: zeroulp.gemm(Q, BLOCKS, interval=x),
    "splits": lambda x: zeroulp.gemm(Q, BLOCKS, splits=x),
    "count": zeroulp.use_threads,
    "number": lambda x: zeroulp.testing.case("quantize", x),
    "seed": lambda x: zeroulp.testing.case("quantize", seed=x),
    "step": lambda x: zeroulp.adamw(X, X, X, X, step=x),
}


@pytest.mark.parametrize("argument", NUMBERS)
@pytest.mark.parametrize("bad", ["3", 2.5, -1, 2**64, X, [1]])
def test_no_integer_is_refused_by_name(argument, bad):
    with pytest.raises(zeroulp.Error, match=rf"^{argument} is "):
        NUMBERS[argument](bad)


def test_an_integer_is_not_cut_to_32_bits():
    with pytest.raises(zeroulp.Error, match="interval is 4294967424"):
        zeroulp.gemm(Q, BLOCKS, interval=2**32 + 128)


@pytest.mark.parametrize("bad", [None, 3, X, ["vllm"]])
def test_a_claim_is_a_name(bad):
    with pytest.raises(zeroulp.Error, match="^claim: a "):
        zeroulp.explain(Q, bad, X)


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(zeroulp.Error, match="no quantized matrix"):
        zeroulp.Quantized.load(tmp_path)
    for text in ("", "[]", "{}", '{"layout": "row_major"}'):
        (tmp_path / "meta.json").write_text(text)
        with pytest.raises(zeroulp.Error, match=str(tmp_path)):
            zeroulp.Quantized.load(tmp_path)
    Q.save(tmp_path)
    (tmp_path / "codes.npy").write_bytes(b"none")
    with pytest.raises(zeroulp.Error, match="no quantized matrix"):
        zeroulp.Quantized.load(tmp_path)


def test_an_array_of_another_kind_is_taken_by_its_own_method():
    class Other:
        def __dlpack__(self, **_):
            raise BufferError("this type is not known")

        def __dlpack_device__(self):
            return 1, 0

        def __array__(self, dtype=None, copy=None):
            return X

    assert zeroulp.quantize(Other()) == Q
