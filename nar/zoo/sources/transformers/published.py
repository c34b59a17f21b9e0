"""Parts of published configurations that a table of completions puts together."""

# The example in the docstring of TimeSeriesTransformerConfig.
FORECAST = {"prediction_length": 12}
# google/siglip-so400m-patch14-384.
SO400M = {"hidden_size": 1_152, "intermediate_size": 4_304, "num_hidden_layers": 27,
          "num_attention_heads": 16, "patch_size": 14}  # fmt: skip
# google/gemma-3-4b-it and what is made from it: SigLIP so400m on images of 896 pixels.
GEMMA3 = {"vision_config": {**SO400M, "image_size": 896}}
# facebook/EdgeTAM: RepViT-M1.
REPVIT = {"model_type": "timm_wrapper", "architecture": "repvit_m1", "num_classes": 1_000,
          "model_args": {"in_chans": 3, "features_only": True,
                         "out_indices": [0, 1, 2, 3]}}  # fmt: skip
# zai-org/GLM-4.1V-9B-Thinking, GLM-4.5V: half of each head is rotated, in three sections.
HALF_ROTATED = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5,
                "mrope_section": [8, 12, 12]}  # fmt: skip
GLM_TEXT = {"text_config": {"rope_parameters": HALF_ROTATED}}
VISION_MARKS = {"vision_start_token_id": 151_652, "vision_end_token_id": 151_653}
HEADS_OF_128 = {"head_dim": 128}
# ModernVBERT/modernvbert.
MODERN_VBERT = {"vision_config": {"model_type": "siglip_vision_model", "image_size": 512,
                                  "patch_size": 16}}  # fmt: skip
# Large kernels as rows and columns, as PP-OCRv5_server_det is (arXiv:2507.05595): its test in
# transformers writes them out as kernel, stride and padding.
_KERNELS = (("long", 7), ("mid", 5), ("short", 3))
INTRACLASS = {
    "reduce_channel": [1, 1, 0],
    "return_channel": [1, 1, 0],
    **{f"vertical_long_to_small_conv_{ratio}ratio": [[side, 1], [1, 1], [side // 2, 0]]
       for ratio, side in _KERNELS},
    **{f"horizontal_small_to_long_conv_{ratio}ratio": [[1, side], [1, 1], [0, side // 2]]
       for ratio, side in _KERNELS},
    **{f"symmetric_conv_long_{ratio}ratio": [[side, side], [1, 1], [side // 2, side // 2]]
       for ratio, side in _KERNELS},
}  # fmt: skip
# google/gemma-4-26B-A4B-it, which google/diffusiongemma-26B-A4B-it is made from.
GEMMA4_EXPERTS = {"hidden_size": 2_816, "intermediate_size": 2_112, "num_hidden_layers": 30,
                  "num_attention_heads": 16, "num_key_value_heads": 8,
                  "num_global_key_value_heads": 2, "num_experts": 128, "top_k_experts": 8,
                  "moe_intermediate_size": 704, "sliding_window": 1_024}  # fmt: skip
# By default every layer attends to all; the base is the library's own.
COMPASS_TEXT = {"rope_parameters": {"full_attention": {"rope_type": "default",
                                                       "rope_theta": 10_000.0}}}  # fmt: skip
# facebook/chameleon-7b: a token for each of 8,192 codes, its number in letters; in what order the
# ids go enters no graph.
CHAMELEON = {
    "<image>": 8_711,
    **{f"IMGIMG{str(code).translate(str.maketrans('0123456789', 'ABCDEFGHIJ'))}Z": 4 + code
       for code in range(8_192)},
}  # fmt: skip
# tencent/HunyuanOCR: a quarter of each half head for every axis.
FOUR_AXES = {"rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0,
                                 "mrope_section": [16, 16, 16, 16]}}  # fmt: skip
# ibm-granite/granite-speech-3.3-8b.
QFORMER = {"projector_config": {"model_type": "blip_2_qformer", "hidden_size": 1_024,
                                "encoder_hidden_size": 1_024, "intermediate_size": 4_096,
                                "num_hidden_layers": 2, "num_attention_heads": 16,
                                "cross_attention_frequency": 1}}  # fmt: skip
# ibm-granite/granite-vision-4.1-4b: four depths of SigLIP, on images of 384 pixels in tiles.
GRANITE_VISION = {
    "downsample_rate": "4/8",
    "deepstack_layer_map": [[-19, 9], [-13, 6], [-7, 3], [-1, 0]],
    "image_grid_pinpoints": [[384, 384], [384, 768], [768, 384], [768, 768]],
    "image_token_index": 100_352,
    "vision_feature_select_strategy": "full",
    "vision_config": {**SO400M, "model_type": "siglip_vision_model", "image_size": 384,
                      "patch_size": 16},
    "text_config": {"hidden_size": 2_560, "intermediate_size": 8_192, "num_hidden_layers": 40,
                    "num_attention_heads": 40, "num_key_value_heads": 8, "vocab_size": 100_353},
}  # fmt: skip
# PaddlePaddle/PP-OCRv5_mobile_rec: PP-LCNetV3 as it reads lines, more steps down than across.
LINE_READER = {
    "model_type": "pp_lcnet_v3", "scale": 0.95, "divisor": 16, "out_features": ["stage5"],
    "block_configs": [
        [[3, 16, 32, 1, False]],
        [[3, 32, 64, 1, False], [3, 64, 64, 1, False]],
        [[3, 64, 128, [2, 1], False], [3, 128, 128, 1, False]],
        [[3, 128, 256, [1, 2], False], *[[5, 256, 256, 1, False]] * 4],
        [[5, 256, 512, [2, 1], True], [5, 512, 512, 1, True], [5, 512, 512, [2, 1], False],
         [5, 512, 512, 1, False]],
    ],
}  # fmt: skip
