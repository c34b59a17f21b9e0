"""Writes the Keras files of this folder with Keras itself, on its torch backend.

    pip install keras && KERAS_BACKEND=torch python make_keras.py

The designs are those of ``twins.py``, with weights of zeros. Keras does not compress archives; all
but one are compressed here, so that they are small.
"""

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import keras
import numpy as np
from keras import layers as kl

HERE = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent


def separable_net():
    """Convolutions, depthwise ones with and without stride, a shortcut, a classifier."""
    image = keras.Input((32, 32, 3))
    x = kl.ZeroPadding2D(1)(image)
    x = kl.ReLU(6)(kl.Conv2D(8, 3, 2)(x))
    short = x
    x = kl.ReLU(6)(kl.Conv2D(16, 1)(x))
    x = kl.ReLU(6)(kl.DepthwiseConv2D(3, padding="same")(x))
    x = kl.Add()([short, kl.Conv2D(8, 1)(x)])
    x = kl.ReLU(6)(kl.DepthwiseConv2D(3, 2, padding="same")(x))
    x = kl.MaxPooling2D(2)(x)
    x = kl.Concatenate()([kl.Conv2D(8, 1)(x), kl.Conv2D(8, 3, padding="same")(x)])
    x = kl.GlobalAveragePooling2D()(x)
    return keras.Model(image, kl.Dense(10, activation="softmax")(x))


def recurrent():
    """A layer of LSTM cells between linear layers."""
    return keras.Sequential(
        [
            keras.Input((6, 4)),
            kl.Dense(8, activation="tanh"),
            kl.LSTM(10, return_sequences=True),
            kl.Dense(3),
        ]
    )


def sequence_net():
    """Convolutions along a sequence."""
    x = keras.Input((64, 2))
    y = kl.Conv1D(8, 3, padding="same", activation="relu")(x)
    y = kl.Conv1D(8, 3, strides=2, padding="same", activation="relu")(y)
    return keras.Model(x, kl.Dense(4)(kl.GlobalAveragePooling1D()(y)))


def encoder():
    """Tokens, and a block of attention and an MLP with norms before each, in a model of its own."""
    x = keras.Input((12, 16))
    y = kl.LayerNormalization()(x)
    y = x + kl.MultiHeadAttention(2, 8)(y, y)
    z = kl.Dense(32, activation="gelu")(kl.LayerNormalization()(y))
    block = keras.Model(x, kl.Add()([y, kl.Dense(16)(z)]), name="block")
    ids = keras.Input((12,), dtype="int32")
    z = kl.GlobalAveragePooling1D()(block(kl.Embedding(50, 16)(ids)))
    return keras.Model(ids, kl.Dense(5)(z))


@keras.saving.register_keras_serializable("mine")
class Doubled(kl.Layer):
    """A layer of somebody's own, with a weight."""

    def build(self, shape):
        self.table = self.add_weight(shape=(shape[-1], 7))

    def call(self, x):
        return x + keras.ops.sum(self.table)


def opaque():
    """A lambda and a class of somebody's own between layers."""
    x = keras.Input((8,))
    y = kl.Lambda(lambda each: each * 2)(kl.Dense(6)(x))
    return keras.Model(x, kl.Dense(4)(Doubled()(y)))


def compressed(path):
    """The same archive, compressed."""
    with ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


NETS = {
    "separable": separable_net,
    "recurrent": recurrent,
    "sequence": sequence_net,
    "encoder": encoder,
    "opaque": opaque,
}


def main():
    for name, make in NETS.items():
        keras.utils.clear_session()
        net = make()
        for each in net.weights:
            each.assign(np.zeros(each.shape))
        path = HERE / f"{name}.keras"
        net.save(path)
        if name != "opaque":
            compressed(path)
        if name in ("sequence", "opaque"):
            net.save(HERE / f"{name}.h5")


main()
