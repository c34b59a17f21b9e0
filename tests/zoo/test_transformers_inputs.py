"""Inputs of every kind: images, patches, sounds, series, and the prompts around them."""

import pytest
import torch

from nar.base.workspace import package_yaml
from nar.zoo.libraries import import_library
from nar.zoo.sources.transformers.configs import default_config, parts
from nar.zoo.sources.transformers.inputs import COMPUTED, example_inputs
from nar.zoo.sources.transformers.known_values import known_values

TABLES = {
    table: package_yaml("zoo", "sources", "transformers", f"tables/{table}.yaml")
    for table in ("inputs", "completions")
}


def shallow_model(model_type, class_name):
    """Two layers of everything: inputs follow from widths."""
    config = default_config(model_type)
    for part in parts(config):
        for name in ("num_hidden_layers", "depth", "encoder_layers", "decoder_layers"):
            if isinstance(getattr(part, name, None), int):
                setattr(part, name, 2)
    with torch.device("meta"):
        return getattr(import_library("transformers"), class_name)._from_config(config)


def inputs_of(model_type, class_name):
    with known_values():
        return example_inputs(shallow_model(model_type, class_name)).kwargs


def shapes_of(model_type, class_name):
    inputs = inputs_of(model_type, class_name)
    return {name: tuple(value.shape) for name, value in inputs.items()}


def test_a_prompt_holds_a_placeholder_for_every_feature_of_its_image():
    """24 x 24 patches, merged two by two, between the marks that begin and end an image."""
    inputs = inputs_of("qwen2_vl", "Qwen2VLForConditionalGeneration")
    config = default_config("qwen2_vl")
    ids = inputs["input_ids"][0]
    assert inputs["image_grid_thw"].tolist() == [[1, 24, 24]]
    assert inputs["pixel_values"].shape == (24 * 24, 3 * 2 * 14 * 14)
    assert int((ids == config.image_token_id).sum()) == 144
    assert (ids[1], ids[146]) == (config.vision_start_token_id, config.vision_end_token_id)
    assert int(inputs["mm_token_type_ids"].sum()) == 144


def test_a_prompt_holds_a_placeholder_for_every_frame_of_its_sound():
    inputs = inputs_of("qwen2_audio", "Qwen2AudioForConditionalGeneration")
    config = default_config("qwen2_audio")
    assert inputs["input_features"].shape == (1, 128, 3_000)
    assert int((inputs["input_ids"] == config.audio_token_index).sum()) == 750


@pytest.mark.parametrize(
    ("model_type", "class_name", "name", "shape"),
    [
        ("llava", "LlavaModel", "pixel_values", (1, 3, 336, 336)),
        ("idefics2", "Idefics2Model", "pixel_values", (1, 1, 3, 224, 224)),
        ("siglip2_vision_model", "Siglip2VisionModel", "pixel_values", (1, 576, 768)),
        ("timesformer", "TimesformerModel", "pixel_values", (1, 8, 3, 224, 224)),
        ("whisper", "WhisperModel", "input_features", (1, 80, 3_000)),
        ("clap_audio_model", "ClapAudioModel", "input_features", (1, 1, 1_001, 64)),
        ("informer", "InformerModel", "past_values", (1, 12 + 7)),
        ("decision_transformer", "DecisionTransformerModel", "states", (1, 20, 17)),
        ("layoutlm", "LayoutLMModel", "bbox", (1, 16, 4)),
        ("bert", "BertForMultipleChoice", "input_ids", (1, 2, 16)),
        ("inkling2_vision", "Inkling2VisionModel", "pixel_values", (576, 40, 40, 3)),
        ("jev", "JevForDecision", "marks", (1, 1)),
        ("pi0", "PI0Model", "action_embeds", (1, 1 + 50, 1_024)),
        ("pi0", "PI0Model", "input_ids", (1, 256 + 16)),
        ("rf_detr", "RfDetrModel", "pixel_values", (1, 3, 560, 560)),
        ("xcodec2", "Xcodec2Model", "input_features", (1, 60, 160)),
    ],
)
def test_inputs_have_the_layout_of_their_model(model_type, class_name, name, shape):
    assert shapes_of(model_type, class_name)[name] == shape


@pytest.mark.slow
def test_a_model_of_text_or_sound_is_given_one_of_them():
    """A mask cannot be over both."""
    assert "input_features" not in inputs_of("seamless_m4t", "SeamlessM4TModel")
    assert "input_features" in inputs_of("seamless_m4t", "SeamlessM4TForSpeechToText")


def test_special_tokens_are_no_text():
    """XLM-RoBERTa's mask is far off; ESM's vocabulary of 33 is small."""
    ids = inputs_of("esm", "EsmModel")["input_ids"]
    assert int(ids.max()) < 33
    assert default_config("esm").mask_token_id not in ids


def test_tables_speak_of_types_that_the_library_has():
    mapping = import_library("transformers").CONFIG_MAPPING
    rows = {*TABLES["inputs"]["types"], *TABLES["completions"]["completions"]}
    assert [name for name in rows if name not in mapping] == []


def test_everything_that_is_computed_stands_in_the_table():
    assert set(COMPUTED) <= set(names_in(TABLES["inputs"]))


def names_in(entry):
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict | list):
        for part in entry.values() if isinstance(entry, dict) else entry:
            yield from names_in(part)
