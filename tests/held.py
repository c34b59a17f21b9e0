"""Files and folders of models as people hold them: downloads, clones, checkpoints, broken ones."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import torch
from safetensors.torch import save_file

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 100,
}
BERT = {**LLAMA, "architectures": ["BertModel"], "model_type": "bert"}
CAUSAL_LLAMA = {"architectures": ["LlamaForCausalLM"], **LLAMA}
REMOTE = {
    "architectures": ["DeepThingForCausalLM"],
    "model_type": "deepthing",
    "auto_map": {
        "AutoConfig": "configuration_deepthing.DeepThingConfig",
        "AutoModelForCausalLM": "modeling_deepthing.DeepThingForCausalLM",
    },
}
TRANSFORMER = "sentence_transformers.models.Transformer"
POOLING = "sentence_transformers.models.Pooling"
UNET = {
    "_class_name": "UNet2DConditionModel",
    "_diffusers_version": "0.30.0",
    "block_out_channels": [32, 64],
    "cross_attention_dim": 32,
    "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
    "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"],
    "in_channels": 4,
    "out_channels": 4,
    "layers_per_block": 1,
    "sample_size": 16,
    "attention_head_dim": 8,
    "norm_num_groups": 8,
}
PIPELINE = {
    "_class_name": "StableDiffusionPipeline",
    "_diffusers_version": "0.30.0",
    "unet": ["diffusers", "UNet2DConditionModel"],
    "vae": ["diffusers", "AutoencoderKL"],
    "text_encoder": ["transformers", "CLIPTextModel"],
    "scheduler": ["diffusers", "PNDMScheduler"],
}
CLIP_TEXT = {
    "architectures": ["CLIPTextModel"],
    "model_type": "clip_text_model",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "vocab_size": 100,
}
OPEN_CLIP = {
    "model_cfg": {
        "embed_dim": 64,
        "vision_cfg": {
            "image_size": 32, "layers": 2, "width": 64, "patch_size": 8, "head_width": 32,
        },
        "text_cfg": {"context_length": 16, "vocab_size": 100, "width": 64, "heads": 2, "layers": 2},
    },
    "preprocess_cfg": {"mean": [0.5, 0.5, 0.5]},
}  # fmt: skip
LORA = {
    "peft_type": "LORA",
    "base_model_name_or_path": "google-bert/bert-base-uncased",
    "r": 8,
    "lora_alpha": 16,
    "target_modules": ["query", "value"],
    "task_type": "SEQ_CLS",
}
FASTER_RCNN = (
    "_base_ = ['../_base_/default_runtime.py']\n"
    "model = dict(type='FasterRCNN', backbone=dict(type='ResNet', depth=50, num_stages=4), "
    "neck=dict(type='FPN', in_channels=[256,512,1024,2048], out_channels=256, num_outs=5))\n"
)
# What JSON and text files hold, by their paths.
TEXTS: Mapping[str, Any] = {
    "hf_newer/config.json": {
        **LLAMA, "architectures": ["Zeta9ForCausalLM"], "model_type": "zeta9",
        "transformers_version": "9.1.0",
    },
    "hf_newer_class/config.json": {**LLAMA, "architectures": ["LlamaForFooBar"]},
    "hf_remote/config.json": REMOTE,
    "hf_remote/modeling_deepthing.py": "raise SystemExit('must never run')\n",
    "hf_remote_known/config.json": {
        **CAUSAL_LLAMA, "auto_map": {"AutoModelForCausalLM": "modeling_x.XForCausalLM"},
    },
    "hf_gptq/config.json": {
        **CAUSAL_LLAMA,
        "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128},
    },
    "hf_bnb/config.json": {
        **CAUSAL_LLAMA,
        "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True},
    },
    "hf_flash/config.json": {
        **CAUSAL_LLAMA, "attn_implementation": "flash_attention_2",
        "_attn_implementation": "flash_attention_2", "torch_dtype": "bfloat16",
    },
    "mlx/config.json": {**LLAMA, "quantization": {"group_size": 64, "bits": 4}},
    "peft/adapter_config.json": LORA,
    "sharded/model.safetensors.index.json": {
        "metadata": {"total_size": 32},
        "weight_map": {
            "a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors",
        },
    },
    "diffusers/model_index.json": PIPELINE,
    "diffusers/unet/config.json": UNET,
    "diffusers/text_encoder/config.json": CLIP_TEXT,
    "diffusers/scheduler/scheduler_config.json": {"_class_name": "PNDMScheduler"},
    "st/modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": TRANSFORMER},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": POOLING},
    ],
    "st/config_sentence_transformers.json": {"__version__": {"sentence_transformers": "3.0"}},
    "st/config.json": BERT,
    "st/1_Pooling/config.json": {"word_embedding_dimension": 64, "pooling_mode_mean_tokens": True},
    "st_sub/modules.json": [{"idx": 0, "name": "0", "path": "0_Transformer", "type": TRANSFORMER}],
    "st_sub/0_Transformer/config.json": BERT,
    "timm_hub/config.json": {
        "architecture": "vit_tiny_patch16_224", "num_classes": 10, "num_features": 192,
        "global_pool": "token",
        "pretrained_cfg": {"tag": "augreg", "input_size": [3, 224, 224], "num_classes": 10},
    },
    "timm_hub_args/config.json": {
        "architecture": "resnet18", "num_classes": 10, "model_args": {"stem_type": "deep"},
        "pretrained_cfg": {"input_size": [3, 64, 64]},
    },
    "open_clip/open_clip_config.json": OPEN_CLIP,
    "yolo/mynet.yaml": (
        "nc: 80\nscales:\n  n: [0.33, 0.25, 1024]\nbackbone:\n  - [-1, 1, Conv, [64, 3, 2]]\n"
        "  - [-1, 3, C2f, [128, True]]\nhead:\n  - [[1], 1, Detect, [nc]]\n"
    ),
    "spacy/meta.json": {"lang": "en", "name": "x", "pipeline": ["tok2vec"]},
    "spacy/config.cfg": "[nlp]\nlang='en'\n",
    "mlflow/MLmodel": "flavors:\n  pytorch:\n    model_data: data\n",
    "mlflow/data/pickle_module_info.txt": "mlflow.pytorch.pickle_module",
    "mm/my_det.py": FASTER_RCNN,
    "tfjs/model.json": {
        "format": "graph-model", "modelTopology": {"node": []}, "weightsManifest": [],
    },
    "tfjs_layers/model.json": {
        "format": "layers-model", "weightsManifest": [],
        "modelTopology": {"model_config": {"class_name": "Sequential", "config": []}},
    },
    "paddle3/inference.json": {
        "base_code": {"magic": "pir", "version": 1}, "program": {"regions": []},
    },
    "keras3/config.json": {
        "module": "keras", "class_name": "Functional", "config": {"layers": []},
    },
    "tokenizer_only/tokenizer.json": {"version": "1.0"},
    "lit/lightning_config.json": {},
    "onnx_folder/onnx/model.onnx": "x",
    "onnx_folder/config.json": BERT,
    "gguf_folder/README.md": "x",
    "params/params.json": {"dim": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 100},
    "model.xml": "<net name='x' version='11'></net>",
    "m.param": "7767517\n1 1\n",
    "m.mlir": "module {}",
    "m.cfg": "[net]",
    "m.prototxt": "layer{}",
    "bad.onnx": "<html>not found</html>",
    "lfs.onnx": "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n",
}  # fmt: skip
BYTES = {
    "m.gguf": b"GGUF" + bytes(60),
    "gguf_folder/x-Q4_K_M.gguf": b"GGUF",
    "m.keras": b"PK\3\4",
    "m.mlmodel": bytes(30),
    "m.mar": b"PK",
    "m.engine": b"ftrt",
    "m.pdmodel": bytes(9),
    "old.pt2": b"PK\5\6" + bytes(18),
    "saved/saved_model.pb": b"x",
    **dict.fromkeys(
        (
            "frozen.pb", "m.stablehlo", "m.joblib", "m.pkl", "m.npz", "m.pte", "m.ort", "m.msgpack",
            "m.nemo", "m.caffemodel", "m.pt2.zip", "M.ONNX",
        ),
        b"x",
    ),
}  # fmt: skip
QUERY = "attention.self.query"
# Shapes of the weights of files of safetensors.
WEIGHTS = {
    "alone/model.safetensors": {
        f"encoder.layer.{layer}.{QUERY}.weight": (32, 32) for layer in range(2)
    },
    "diffusers_single/pytorch_lora_weights.safetensors": {"unet.down.0.lora_A.weight": (4, 32)},
    "peft/adapter_model.safetensors": {
        f"base_model.model.bert.encoder.layer.0.{QUERY}.lora_A.weight": (8, 32)
    },
    "sharded/model-00001-of-00002.safetensors": {"a": (2, 2)},
    "sharded/model-00002-of-00002.safetensors": {"b": (2, 2)},
}


def write_held(directory: Path) -> None:
    """Write all of them into a directory."""
    for name, text in TEXTS.items():
        _at(directory, name).write_text(text if isinstance(text, str) else json.dumps(text))
    for name, content in BYTES.items():
        _at(directory, name).write_bytes(content)
    for name, shapes in WEIGHTS.items():
        tensors = {weight: torch.zeros(shape) for weight, shape in shapes.items()}
        save_file(tensors, _at(directory, name))
    (directory / "x.mlpackage").mkdir()
    checkpoint = {"state_dict": {"net.0.weight": torch.zeros(2, 2)}, "hyper_parameters": {"d": 2}}
    torch.save(checkpoint, directory / "epoch1.ckpt")
    torch.save(torch.nn.Linear(2, 2), directory / "whole_module.pt")
    torch.save({"w": torch.zeros(2)}, directory / "sd.pth")
    for name in ("ts.pt", "ts.jit"):
        with ZipFile(directory / name, "w") as archive:
            for part in ("data.pkl", "constants.pkl", "code/__torch__.py"):
                archive.writestr(f"ts/{part}", b"x")


def _at(directory: Path, name: str) -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
