"""What a default configuration leaves open or gets wrong, as published checkpoints set it.

Keys are model types, values keyword arguments of their configuration class.
"""

from collections.abc import Mapping
from typing import Any

from nar.zoo.sources.transformers.published import (
    CHAMELEON,
    COMPASS_TEXT,
    FORECAST,
    FOUR_AXES,
    GEMMA3,
    GEMMA4_EXPERTS,
    GLM_TEXT,
    GRANITE_VISION,
    HALF_ROTATED,
    HEADS_OF_128,
    INTRACLASS,
    LINE_READER,
    MODERN_VBERT,
    QFORMER,
    REPVIT,
    SO400M,
    VISION_MARKS,
)

COMPLETIONS: Mapping[str, Mapping[str, Any]] = {
    # HuggingFaceM4/Aria: images of 490 or 980 pixels, 14 a patch.
    "aria": {"vision_config": {"model_type": "idefics3_vision", "image_size": 980,
                               "patch_size": 14}},
    "autoformer": FORECAST,
    # CohereLabs/aya-vision-8b: the tower is SigLIP so400m, whose 1,152 channels make 16 heads.
    "aya_vision": {"vision_config": {**SO400M, "model_type": "siglip_vision_model",
                                     "image_size": 364, "vision_use_head": False}},
    # microsoft/beit-base-finetuned-ade-640-640.
    "beit": {"out_indices": [3, 5, 7, 11]},
    # Salesforce/blip2-opt-2.7b.
    "blip-2": {"image_token_index": 50_265},
    "chameleon": {"vocabulary_map": CHAMELEON},
    "cohere_compass": {"text_config": COMPASS_TEXT},
    "cohere_compass_text": COMPASS_TEXT,
    "colmodernvbert": {"vlm_config": {"model_type": "modernvbert", **MODERN_VBERT}},
    # databricks/dbrx-base.
    "dbrx": {"d_model": 6_144, "n_heads": 48, "n_layers": 40, "vocab_size": 100_352,
             "max_seq_len": 32_768,
             "attn_config": {"clip_qkv": 8, "kv_n_heads": 8, "rope_theta": 500_000},
             "ffn_config": {"ffn_hidden_size": 10_752, "moe_num_experts": 16, "moe_top_k": 4}},
    # deepseek-ai/DeepSeek-OCR, whose first layer is dense, and Qwen2-0.5B as an encoder.
    "deepseek_ocr2": {"vision_config": {"encoder_config": {"hidden_size": 896,
                                                           "intermediate_size": 4_864,
                                                           "num_hidden_layers": 24,
                                                           "num_attention_heads": 14,
                                                           "num_key_value_heads": 2}},
                      "text_config": {"hidden_size": 1_280, "intermediate_size": 6_848,
                                      "num_hidden_layers": 12, "num_attention_heads": 10,
                                      "num_key_value_heads": 10, "vocab_size": 129_280,
                                      "moe_intermediate_size": 896, "num_experts_per_tok": 6,
                                      "n_group": 1, "topk_group": 1,
                                      "mlp_layer_types": ["dense"] + ["sparse"] * 11}},
    "diffusion_gemma": {"text_config": GEMMA4_EXPERTS},
    "edgetam": {"vision_config": {"backbone_config": REPVIT}},
    "edgetam_vision_model": {"backbone_config": REPVIT},
    # facebook/esm2_t6_8M_UR50D.
    "esm": {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32},
    **dict.fromkeys(("gemma3", "shieldgemma2"), GEMMA3),
    # The example in the docstring of Gemma4Config: all three parts.
    **{name: {"vision_config": {}, "audio_config": {}}
       for name in ("gemma4", "gemma4_unified", "embedding_gemma2")},
    **dict.fromkeys(("glm46v", "glm4v", "glmga"), GLM_TEXT),
    "glm4v_moe": {"text_config": {"rope_parameters": HALF_ROTATED, "head_dim": 128}},
    "glm4v_moe_text": {"rope_parameters": HALF_ROTATED, "head_dim": 128},
    "glm_image_text": {"rope_parameters": HALF_ROTATED},
    "glm4v_text": {"rope_parameters": HALF_ROTATED},
    "granite4_vision": GRANITE_VISION,
    **dict.fromkeys(("granite_speech", "granite_speech_plus"), QFORMER),
    # facebook/hiera-tiny-224-mae-hf.
    "hiera": {"decoder_hidden_size": 512, "decoder_depth": 8, "decoder_num_heads": 16},
    "informer": FORECAST,
    # Salesforce/instructblip-flan-t5-xl names a token after its vocabulary; this one is of OPT.
    "instructblip": {"image_token_index": 50_265},
    "instructblipvideo": {"video_token_index": 50_265},
    # HuggingFaceM4/Idefics3-8B-Llama3 and HuggingFaceTB/SmolVLM2-2.2B-Instruct: SigLIP so400m.
    "idefics3": {"vision_config": {**SO400M, "image_size": 364}},
    # facebook/sapiens2-seg-0.4b.
    "sapiens2": {"head_config": {"upsample_out_channels": [512, 256, 128, 64],
                                 "upsample_kernel_sizes": [4, 4, 4, 4],
                                 "conv_out_channels": [64, 64], "conv_kernel_sizes": [1, 1]}},
    "smolvlm": {"vision_config": {**SO400M, "image_size": 384}, "scale_factor": 3},
    # stepfun-ai/Step-3.5-Flash.
    "step3p7": {"text_config": {"sliding_window": 512}},
    "t5gemma2": {"encoder": GEMMA3},
    # T5Gemma2Config gives its encoder the default rate.
    "t5gemma2_encoder": {**GEMMA3, "text_config": {"dropout_rate": 0.0}},
    # The example in the docstring of TimmBackbone.
    "timm_backbone": {"backbone": "resnet50", "use_pretrained_backbone": False},
    # meta-llama/Llama-4-Scout-17B-16E-Instruct.
    "llama4": {"vision_config": {"hidden_size": 1_408, "intermediate_size": 5_632,
                                 "num_hidden_layers": 34, "num_attention_heads": 16,
                                 "image_size": 336, "patch_size": 14,
                                 "projector_input_dim": 4_096, "projector_output_dim": 4_096,
                                 "vision_output_dim": 4_096}},
    # Qwen/Qwen2.5-Omni-7B, Qwen/Qwen3-Omni-30B-A3B-Instruct.
    "qwen2_5_omni_thinker": VISION_MARKS,
    "qwen3_omni_moe_thinker": {**VISION_MARKS, "audio_start_token_id": 151_669,
                               "audio_end_token_id": 151_670,
                               "text_config": {"head_dim": 128, "num_attention_heads": 32,
                                               "num_key_value_heads": 4,
                                               "num_hidden_layers": 48}},
    # The model divides: tencent/Hunyuan-7B-Instruct, mistralai/Ministral-8B-Instruct-2410.
    **dict.fromkeys(("hunyuan_v1_dense", "hunyuan_v1_moe", "ministral"), HEADS_OF_128),
    "hunyuan_vl": {"text_config": {**HEADS_OF_128, **FOUR_AXES}},
    "hunyuan_vl_text": {**HEADS_OF_128, **FOUR_AXES},
    # AnnaZhang/lwdetr_small_60e_coco.
    "lw_detr": {"projector_scale_factors": [1.0]},
    # LiquidAI/LFM2-8B-A1B: attention in 6 of 24 layers.
    "lfm2_moe": {"layer_types": ["full_attention" if layer in (2, 6, 10, 14, 18, 21) else "conv"
                                 for layer in range(24)], "num_hidden_layers": 24},
    # deepseek-ai/DeepSeek-V2-Lite.
    "deepseek_v2": {"num_experts_per_tok": 6, "n_group": 1, "topk_group": 1},
    # rednote-hilab/dots.llm1.base.
    "dots1": {"n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6,
              "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1},
    # Nemotron-4 15B (arXiv:2402.16819, table 1), whose widths are the default ones.
    "nemotron": {"num_key_value_heads": 8, "head_dim": 128},
    # nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning.
    "nemotron_h_omni": {"image_token_id": 18},
    # UsefulSensors/moonshine-streaming-tiny: the decoder has the heads of the encoder.
    "moonshine_streaming": {"num_key_value_heads": 8},
    # AIDC-AI/Ovis2-2B: its text model is Qwen2.5-1.5B, as wide as the default projector.
    "ovis2": {"text_config": {"model_type": "qwen2", "hidden_size": 1_536, "num_hidden_layers": 28,
                              "intermediate_size": 8_960, "num_attention_heads": 12,
                              "num_key_value_heads": 2, "vocab_size": 151_936}},
    # facebook/Perception-LM-1B.
    "perception_lm": {"projector_pooling_ratio": 2,
                      "vision_config": {"model_type": "timm_wrapper",
                                        "architecture": "vit_pe_core_large_patch14_336",
                                        "model_args": {"embed_dim": 1_024, "img_size": [448, 448],
                                                       "depth": 23,
                                                       "global_pool": "",
                                                       "use_post_transformer_norm": False,
                                                       "init_values": 0.1,
                                                       "ref_feat_shape": [32, 32]}}},
    "pp_ocrv5_mobile_rec": {"backbone_config": LINE_READER},
    "pp_ocrv5_server_det": {"intraclass_block_config": INTRACLASS, "kernel_list": [3, 2, 2],
                            "scale_factor_list": [1, 2, 4, 8]},
    # Qwen/Qwen2-VL-72B, whose text model is the default one.
    "qwen2_vl": {"vision_config": {"hidden_size": 8_192}},
    "time_series_transformer": FORECAST,
    "modernvbert": MODERN_VBERT,
    "ultravbert": MODERN_VBERT,
    # PaddlePaddle/UVDoc: the bridge reads each of the six stages.
    "uvdoc": {"backbone_config": {"model_type": "uvdoc_backbone",
                                  "out_features": [f"stage{place}" for place in range(1, 7)]}},
    # hustvl/vitmatte-small-composition-1k: a trimap is the fourth channel.
    "vitmatte": {"backbone_config": {"model_type": "vitdet", "num_channels": 4, "image_size": 512,
                                     "pretrain_image_size": 224, "hidden_size": 384,
                                     "num_attention_heads": 6,
                                     "use_absolute_position_embeddings": True,
                                     "use_relative_position_embeddings": True, "window_size": 14,
                                     "window_block_indices": [0, 1, 3, 4, 6, 7, 9, 10],
                                     "residual_block_indices": [2, 5, 8, 11],
                                     "out_features": ["stage12"]}},
    # facebook/wav2vec2-conformer-rel-pos-large-960h-ft.
    "wav2vec2-conformer": {"vocab_size": 32},
    # mistralai/Voxtral-Mini-3B-2507.
    "voxtral": {"audio_token_id": 24},
}  # fmt: skip
