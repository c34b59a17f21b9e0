"""Published sizes of transformers: the reviewed table, its names, and what it builds."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo.libraries import import_library
from nar.zoo.sources.transformers.models import TRANSFORMERS
from nar.zoo.sources.transformers.sizes import (
    published_config,
    published_sizes,
    swept_settings,
    task_of_classes,
    with_trained_labels,
)

# Read with a default by the model: the configuration class does not declare them.
UNDECLARED = {
    "deberta-v2": {
        "conv_act", "conv_kernel_size", "norm_rel_ebd", "position_buckets", "share_att_key",
    },
    "falcon_h1": {"head_dim"},
    "qwen3_moe": {"head_dim"},
}  # fmt: skip

# Files of older versions have them: today's configurations put them elsewhere.
OLDER = {"global_attn_every_n_layers", "partial_rotary_factor", "rotary_pct"}


def test_every_row_is_cited_and_stands_in_some_class() -> None:
    sizes = published_sizes()
    assert len(sizes) > 600
    assert all(size.cite and task_of_classes(size) for size in sizes.values())


@pytest.mark.slow
def test_every_override_is_a_field_of_its_configuration() -> None:
    mapping = import_library("transformers").CONFIG_MAPPING
    defaults = {size.model_type: mapping[size.model_type]() for size in published_sizes().values()}
    unknown = {
        (size.model_type, field)
        for size in published_sizes().values()
        for field in size.overrides
        if not hasattr(defaults[size.model_type], field)
    }
    assert unknown == {(of, field) for of, fields in UNDECLARED.items() for field in fields}


@pytest.mark.slow
def test_every_swept_field_is_one_of_its_configuration_and_has_a_reason() -> None:
    mapping = import_library("transformers").CONFIG_MAPPING
    settings = swept_settings()
    assert len({of for of, _ in settings}) >= 40
    defaults = {of: mapping[of]() for of, _ in settings}
    unknown = {
        (of, field)
        for (of, _), size in settings.items()
        for field in size.overrides
        if not hasattr(defaults[of], field) and field not in UNDECLARED.get(of, OLDER)
    }
    assert unknown == set()
    assert all(size.cite and task_of_classes(size) for size in settings.values())


@pytest.mark.slow
def test_a_setting_reaches_the_configuration_and_is_no_published_model() -> None:
    config = published_config(swept_settings()["deepseek_v3", "q_lora_rank=null"])
    assert config.q_lora_rank is None
    windows = published_config(swept_settings()["lfm2", "layer_types=full_attention"])
    assert windows.layer_types == ["full_attention"] * windows.num_hidden_layers
    name = "transformers:llama/LlamaForCausalLM@attention_bias=true"
    assert TRANSFORMERS.resolve(name).labels.tier == "swept"
    assert name in TRANSFORMERS.specs()


def test_what_only_a_head_reads_is_set_under_that_head_alone() -> None:
    of_words = task_of_classes(swept_settings()["llama", "tie_word_embeddings=true"])
    assert of_words == {"LlamaForCausalLM": "text-generation"}
    assert len(task_of_classes(swept_settings()["llama", "mlp_bias=true"])) > 3


@pytest.mark.slow
def test_checkpoints_with_the_classes_of_their_data_stand_beside_those_with_two() -> None:
    size = with_trained_labels()["vit-base-patch16-224,num_labels=1000"]
    assert published_config(size).num_labels == 1_000
    assert task_of_classes(size) == {"ViTForImageClassification": "image-classification"}
    names = TRANSFORMERS.specs()
    assert "transformers:detr/DetrForObjectDetection@detr-resnet-50,num_labels=91" in names
    assert "transformers:vit/ViTForImageClassification@vit-base-patch16-224" in names


def test_a_configuration_has_the_published_numbers_and_no_cache() -> None:
    config = published_config(published_sizes()["distil-large-v3"])
    assert (config.encoder_layers, config.decoder_layers, config.d_model) == (32, 2, 1280)
    assert config.encoder_attention_heads == config.decoder_attention_heads == 20
    assert not config.use_cache


def test_a_configuration_is_made_anew_each_time() -> None:
    size = published_sizes()["clip-vit-large-patch14"]
    published_config(size).vision_config.hidden_size = 1
    assert published_config(size).vision_config.hidden_size == 1024


@pytest.mark.slow
def test_names_are_unique_and_name_the_checkpoint() -> None:
    names = [name for name in TRANSFORMERS.specs() if "@" in name]
    assert len(names) == len(set(names)) > 2000
    assert "transformers:bert/BertForMaskedLM@bert-large-uncased" in names


def test_encoders_are_not_taken_as_generators() -> None:
    classes = task_of_classes(published_sizes()["bert-base-uncased"])
    assert classes["BertForTokenClassification"] == "token-classification"
    assert "BertLMHeadModel" not in classes
    assert "GPT2LMHeadModel" in task_of_classes(published_sizes()["gpt2"])


def test_the_labels_of_a_published_model_name_type_and_task() -> None:
    labels = TRANSFORMERS.resolve("transformers:llama/LlamaForCausalLM@Llama-2-70b").labels
    assert (labels.family, labels.task, labels.tier) == ("llama", "text-generation", "named")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "transformers:bert/BertForMaskedLM@bert-huge",
        "transformers:roberta/RobertaForMaskedLM@bert-large-uncased",
        "transformers:bert/BertForNextSentencePrediction@bert-large-uncased",
    ],
)
def test_a_name_that_the_table_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(UnknownArchitectureError, match="no such architecture"):
        TRANSFORMERS.resolve(name)


def test_a_published_model_is_captured_with_its_own_parameters() -> None:
    name = "transformers:bert/BertForSequenceClassification@bert_uncased_L-2_H-128_A-2"
    graph = TRANSFORMERS.resolve(name).capture().graph
    assert graph.parameters == 4_386_178
