"""Models of transformers: tasks, configurations and inputs of every kind, and the two rungs."""

from functools import partial

import pytest
import torch

from nar.base.errors import CaptureError
from nar.graphs.canonical import exact_fingerprint
from nar.own import capture_architecture
from nar.zoo.libraries import import_library
from nar.zoo.sources.transformers.capture import capture_config
from nar.zoo.sources.transformers.configs import default_config, narrowed, parts
from nar.zoo.sources.transformers.inputs import image_size
from nar.zoo.sources.transformers.tasks import task_of_pairs


@pytest.mark.parametrize(
    ("model_type", "class_name", "task"),
    [
        ("bert", "BertForMaskedLM", "fill-mask"),
        ("bert", "BertModel", "feature-extraction"),
        ("bart", "BartForConditionalGeneration", "text2text-generation"),
        ("whisper", "WhisperForConditionalGeneration", "automatic-speech-recognition"),
        ("wav2vec2", "Wav2Vec2ForCTC", "automatic-speech-recognition"),
        ("gpt2", "GPT2LMHeadModel", "text-generation"),
        ("detr", "DetrForSegmentation", "image-segmentation"),
        ("detr", "DetrForObjectDetection", "object-detection"),
        ("layoutlmv3", "LayoutLMv3ForQuestionAnswering", "document-question-answering"),
        ("llava", "LlavaForConditionalGeneration", "image-text-to-text"),
    ],
)
def test_the_head_names_the_task(model_type, class_name, task):
    assert task_of_pairs()[model_type, class_name] == task


def test_there_are_hundreds_of_pairs_in_a_fixed_order():
    pairs = list(task_of_pairs())
    assert len(pairs) > 1_000
    assert pairs == sorted(pairs)


def test_a_narrow_configuration_keeps_depth_heads_and_ratios():
    full, narrow = default_config("bart"), narrowed(default_config("bart"))
    assert (full.d_model, full.encoder_ffn_dim) == (1_024, 4_096)
    assert (narrow.d_model, narrow.encoder_ffn_dim) == (128, 512)
    assert narrow.encoder_layers == full.encoder_layers
    assert narrow.encoder_attention_heads == full.encoder_attention_heads
    assert narrow.vocab_size == full.vocab_size // 8


def test_a_configuration_may_be_narrower_still():
    assert narrowed(default_config("bart"), 32).d_model == 32


def test_features_of_images_are_as_wide_as_the_text_model():
    config = default_config("qwen2_5_vl")
    assert config.vision_config.out_hidden_size == config.text_config.hidden_size


def test_special_tokens_stay_apart_in_a_narrow_vocabulary():
    narrow = narrowed(default_config("qwen2_vl"))
    tokens = {narrow.image_token_id, narrow.video_token_id, narrow.vision_start_token_id}
    assert len(tokens) == 3
    assert max(tokens) < narrow.text_config.vocab_size


def test_special_tokens_stay_inside_a_narrow_vocabulary():
    narrow = narrowed(default_config("gpt2"))
    assert narrow.eos_token_id == narrow.vocab_size - 1


def test_tokens_that_a_map_names_stay_inside_a_narrow_configuration():
    """Codes of images are tokens of Chameleon, whose ids no narrow vocabulary would hold."""
    narrow = narrowed(default_config("chameleon"))
    assert narrow.vocab_size > max(narrow.vocabulary_map.values())
    assert narrow.image_token_id == narrow.vocabulary_map["<image>"]


def test_no_configuration_keeps_a_cache():
    assert default_config("llava").text_config.use_cache is False


@pytest.mark.parametrize(
    ("model_type", "size"),
    [("vit", (224, 224)), ("clip", (224, 224)), ("donut-swin", (224, 224)), ("owlv2", (768, 768))],
)
def test_images_have_the_size_of_the_configuration(model_type, size):
    assert image_size(default_config(model_type)) == size


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pair", "block"),
    [
        ("bert/BertForMultipleChoice", "attention"),  # two choices of tokens
        ("layoutlm/LayoutLMModel", "attention"),  # tokens and boxes
        ("t5/T5ForConditionalGeneration", "attention"),  # tokens on both sides
        ("resnet/ResNetForImageClassification", "cnn"),  # an image
        ("clip/CLIPModel", "attention"),  # an image and tokens
        ("timesformer/TimesformerModel", "attention"),  # a clip
        ("wav2vec2/Wav2Vec2ForCTC", "attention"),  # samples
        ("whisper/WhisperForConditionalGeneration", "attention"),  # a spectrogram and tokens
        ("patchtst/PatchTSTModel", "attention"),  # a time series
    ],
)
def test_inputs_of_every_kind_are_made(pair, block):
    architecture = capture_architecture(f"transformers:{pair}").architecture
    architecture.graph.validate()
    assert architecture.block == block


@pytest.mark.slow
def test_a_mixture_of_experts_is_captured_whole_without_its_weights():
    graph = capture_architecture("transformers:mixtral/MixtralForCausalLM").architecture.graph
    assert graph.parameters == 46_702_792_704


@pytest.mark.slow
def test_control_flow_on_values_is_followed_at_full_size():
    """The classifier of BART looks for the last end-of-sequence token."""
    graph = capture_architecture(
        "transformers:bart/BartForSequenceClassification"
    ).architecture.graph
    assert graph.parameters == 407_344_131


def shallow(model_type):
    """Two layers of everything."""
    config = default_config(model_type)
    for part in parts(config):
        for name in ("num_layers", "num_decoder_layers", "num_hidden_layers", "depth"):
            if isinstance(getattr(part, name, None), int):
                setattr(part, name, 2)
    return config


@pytest.mark.slow
def test_control_flow_on_what_weights_give_gets_small_real_weights_and_the_true_size():
    """Which expert a token takes depends on weights: the same ones each time."""
    one, other = (
        capture_config("a", "SwitchTransformersModel", partial(shallow, "switch_transformers"))
        for _ in range(2)
    )
    assert exact_fingerprint(one.graph) == exact_fingerprint(other.graph)
    assert one.graph.parameters == parameters_of("switch_transformers", "SwitchTransformersModel")


def parameters_of(model_type, class_name):
    with torch.device("meta"):
        model = getattr(import_library("transformers"), class_name)._from_config(
            shallow(model_type)
        )
        return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.slow
def test_an_image_and_its_text_are_one_graph_with_all_its_parameters():
    class_name = "Qwen2_5_VLForConditionalGeneration"
    capture = capture_config("a", class_name, partial(shallow, "qwen2_5_vl"))
    capture.graph.validate()
    assert capture.graph.parameters == parameters_of("qwen2_5_vl", class_name)


@pytest.mark.slow
def test_a_class_of_a_part_takes_its_part_of_the_configuration():
    name = "transformers:mllama/MllamaVisionModel"
    assert capture_architecture(name).architecture.block == "attention"


@pytest.mark.slow
def test_a_head_that_stands_on_any_model_takes_the_width_of_that_model():
    capture = capture_config("a", "JevForDecision", partial(shallow, "qwen2"))
    assert capture.graph.parameters > parameters_of("qwen2", "Qwen2Model")


@pytest.mark.slow
def test_an_encoder_by_itself_needs_no_decoder():
    name = "transformers:t5gemma/T5GemmaEncoderModel"
    assert capture_architecture(name).architecture.graph.parameters


@pytest.mark.slow
@pytest.mark.parametrize(
    "pair",
    [
        "pp_ocrv5_server_det/PPOCRV5ServerDetForObjectDetection",  # kernels of its neck
        "uvdoc/UVDocModel",  # stages that its bridge reads
        "vitmatte/VitMatteForImageMatting",  # a fourth channel
    ],
)
def test_configurations_that_leave_parts_open_are_completed(pair):
    assert capture_architecture(f"transformers:{pair}").architecture.graph.parameters


@pytest.mark.slow
def test_a_model_without_a_recipe_fails_with_its_reason():
    name = "transformers:edgetam_video/EdgeTamVideoModel"
    with pytest.raises(CaptureError, match="inference_session"):
        capture_architecture(name)


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        ("glm_image_vqmodel/GlmImageVQVAE", "missing the required"),  # only parts to call
        ("reformer/ReformerModelWithLMHead", "is_decoder=True"),  # its settings are refused
    ],
)
def test_what_no_weights_would_help_fails_at_once(pair, reason):
    with pytest.raises(CaptureError, match=reason) as failure:
        capture_architecture(f"transformers:{pair}")
    assert "with real weights" not in failure.value.reason
