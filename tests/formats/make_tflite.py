"""Writes the .tflite files of this folder with TensorFlow's own converter.

    pip install tensorflow-cpu tf-keras && python make_tflite.py
    TF_USE_LEGACY_KERAS=1 python make_tflite.py fused

The designs are those of ``twins.py``, with random weights of a fixed seed. Recurrent layers of
Keras 2 become operators of the format, and those of Keras 3 loops.
"""

import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers as kl

HERE = Path(__file__).parent
keras.utils.set_random_seed(0)
BIASED = {"bias_initializer": "random_normal"}


def separable_net():
    """Convolutions, depthwise ones with and without stride, a shortcut, a classifier."""
    image = keras.Input((32, 32, 3), batch_size=1)
    x = kl.ZeroPadding2D(1)(image)
    x = kl.ReLU(6)(kl.Conv2D(8, 3, 2, **BIASED)(x))
    short = x
    x = kl.ReLU(6)(kl.Conv2D(16, 1, **BIASED)(x))
    x = kl.ReLU(6)(kl.DepthwiseConv2D(3, padding="same", **BIASED)(x))
    x = kl.Add()([short, kl.Conv2D(8, 1, **BIASED)(x)])
    x = kl.ReLU(6)(kl.DepthwiseConv2D(3, 2, padding="same", **BIASED)(x))
    x = kl.MaxPooling2D(2)(x)
    x = kl.Concatenate()(
        [kl.Conv2D(8, 1, **BIASED)(x), kl.Conv2D(8, 3, padding="same", **BIASED)(x)]
    )
    x = kl.GlobalAveragePooling2D()(x)
    return keras.Model(image, kl.Dense(10, activation="softmax", **BIASED)(x))


def norm():
    return kl.LayerNormalization(
        epsilon=1e-5, gamma_initializer="random_normal", beta_initializer="random_normal"
    )


def transformer():
    """Tokens, learned positions, a block of attention and an MLP, norms before each."""
    ids = keras.Input((12,), batch_size=1, dtype="int32")

    class Positions(kl.Layer):
        def build(self, shape):
            self.table = self.add_weight(shape=shape[1:], initializer="random_normal")

        def call(self, x):
            return x + self.table

    x = Positions()(kl.Embedding(50, 16)(ids))
    y = kl.LayerNormalization(
        epsilon=1e-5, gamma_initializer="random_normal", beta_initializer="random_normal"
    )(x)
    x = x + kl.MultiHeadAttention(2, 8, **BIASED)(y, y)
    y = kl.LayerNormalization(
        epsilon=1e-5, gamma_initializer="random_normal", beta_initializer="random_normal"
    )(x)
    y = kl.Dense(32, activation="gelu", **BIASED)(y)
    x = x + kl.Dense(16, **BIASED)(y)
    return keras.Model(ids, kl.Dense(5, **BIASED)(kl.GlobalAveragePooling1D()(x)))


def recurrent():
    """A layer of LSTM cells between linear layers."""
    x = keras.Input((6, 4), batch_size=1)
    y = kl.Dense(8, activation="tanh", **BIASED)(x)
    y = kl.LSTM(10, return_sequences=True, **BIASED)(y)
    return keras.Model(x, kl.Dense(3, **BIASED)(y))


def sequence_net():
    """Convolutions along a sequence."""
    x = keras.Input((64, 2), batch_size=1)
    y = kl.Conv1D(8, 3, padding="same", activation="relu", **BIASED)(x)
    y = kl.Conv1D(8, 3, strides=2, padding="same", activation="relu", **BIASED)(y)
    return keras.Model(x, kl.Dense(4, **BIASED)(kl.GlobalAveragePooling1D()(y)))


def looped():
    """A layer of GRU cells, which the converter writes as a loop."""
    x = keras.Input((6, 4), batch_size=1)
    return keras.Model(x, kl.Dense(3, **BIASED)(kl.GRU(5, return_sequences=True, **BIASED)(x)))


def both_ways():
    """A layer of LSTM cells in both directions, with Keras 2."""
    layers = tf.keras.layers
    x = tf.keras.Input((6, 4), batch_size=1)
    y = layers.Dense(8, activation="tanh", use_bias=False)(x)
    y = layers.Bidirectional(
        layers.LSTM(
            10, return_sequences=True, bias_initializer="random_normal", unit_forget_bias=False
        )
    )(y)
    return tf.keras.Model(x, layers.Dense(3, use_bias=False)(y))


def converted(model, **settings):
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    for name, value in settings.items():
        setattr(converter, name, value)
    return converter.convert()


def samples():
    rng = np.random.default_rng(0)
    for _ in range(4):
        yield [rng.standard_normal((1, 32, 32, 3)).astype("f4")]


QUANTISED = {
    "optimizations": [tf.lite.Optimize.DEFAULT],
    "representative_dataset": samples,
    "inference_input_type": tf.int8,
    "inference_output_type": tf.int8,
}


def main():
    if "fused" in sys.argv:
        (HERE / "both_ways.tflite").write_bytes(converted(both_ways()))
        return
    net = separable_net()
    files = {
        "separable": converted(net),
        "separable_int8": converted(net, **QUANTISED),
        "separable_half": converted(
            net,
            optimizations=[tf.lite.Optimize.DEFAULT],
            target_spec=tf.lite.TargetSpec(supported_types=[tf.float16]),
        ),
        "transformer": converted(transformer()),
        "recurrent": converted(recurrent()),
        "sequence": converted(sequence_net()),
        "looped": converted(looped()),
    }
    for name, content in files.items():
        (HERE / f"{name}.tflite").write_bytes(content)


main()
