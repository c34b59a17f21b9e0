"""Models of transformers: tasks, configurations and inputs of every kind, and the two rungs."""

import pytest

from nar.errors import CaptureError
from nar.zoo import capture_architecture
from nar.zoo.transformers.configs import default_config, narrowed
from nar.zoo.transformers.settings import image_size
from nar.zoo.transformers.tasks import task_of_pairs


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


def test_special_tokens_stay_inside_a_narrow_vocabulary():
    narrow = narrowed(default_config("gpt2"))
    assert narrow.eos_token_id == narrow.vocab_size - 1


def test_no_configuration_keeps_a_cache():
    assert default_config("llava").text_config.use_cache is False


@pytest.mark.parametrize(
    ("model_type", "size"),
    [("vit", (224, 224)), ("clip", (224, 224)), ("donut-swin", (224, 224)), ("owlv2", (768, 768))],
)
def test_images_have_the_size_of_the_configuration(model_type, size):
    assert image_size(default_config(model_type)) == size


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


def test_a_mixture_of_experts_is_captured_whole_without_its_weights():
    graph = capture_architecture("transformers:mixtral/MixtralForCausalLM").architecture.graph
    assert graph.parameters == 46_702_792_704


def test_control_flow_on_values_gets_small_real_weights_and_the_true_size():
    """The classifier of BART looks for the last end-of-sequence token."""
    graph = capture_architecture(
        "transformers:bart/BartForSequenceClassification"
    ).architecture.graph
    assert graph.parameters == 407_344_131


def test_real_weights_are_the_same_ones_each_time():
    """Which expert a token takes depends on them."""
    name = "transformers:switch_transformers/SwitchTransformersModel"
    one, other = (capture_architecture(name).architecture.exact for _ in range(2))
    assert one == other


def test_a_model_without_a_recipe_fails_with_its_reason():
    name = "transformers:edgetam_video/EdgeTamVideoModel"
    with pytest.raises(CaptureError, match="inference_session"):
        capture_architecture(name)
