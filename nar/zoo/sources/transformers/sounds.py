"""Waveforms, spectrograms and codes, in the layout that a model takes them in."""

from inspect import signature

import torch
from torch import Tensor

from nar.zoo.sources.transformers.configs import Model
from nar.zoo.sources.transformers.makers import Maker, counts, flags, left_out, ones
from nar.zoo.sources.transformers.prompts import TOKENS
from nar.zoo.sources.transformers.settings import audio_setting, mel_bins

# 1.2 seconds at 16 kHz: whole frames for every stride in use.
SAMPLES = 19_200
# 4 seconds at 100 frames a second: whole chunks for every stride in use.
MEL_FRAMES = 400
STACKED = 4
CODES = 20


def mel(model: Model) -> Tensor:
    """(1, frames, bins)."""
    return torch.ones(1, MEL_FRAMES, mel_bins(model.config))


def _mel_without_text(model: Model) -> Tensor | None:
    """Nothing where text would do: a mask cannot be over both."""
    return None if "input_ids" in signature(model.forward).parameters else mel(model)


def _mel_by_bins(model: Model) -> Tensor:
    return mel(model).mT


def _mel_at_50_hertz(model: Model) -> Tensor:
    """(1, frames, bins): one frame for every 320 samples at 16 kHz."""
    return mel(model)[:, : SAMPLES // 320]


def _whole_window(model: Model) -> Tensor:
    """(1, bins, frames), as many frames as the encoder has positions for after its stride of 2."""
    return torch.ones(1, mel_bins(model.config), _window(model))


def _whole_window_mask(model: Model) -> Tensor:
    return torch.ones(1, _window(model), dtype=torch.long)


def _window(model: Model) -> int:
    positions = audio_setting(
        model.config, "max_source_positions", "max_position_embeddings", default=MEL_FRAMES // 2
    )
    return int(2 * positions)


def _stacked_mel(model: Model) -> Tensor:
    """Neighbouring frames side by side, as the feature extractor stacks them."""
    stacked = audio_setting(model.config, "num_stacked_frames", default=STACKED)
    return torch.ones(1, MEL_FRAMES, stacked * mel_bins(model.config))


def _spoken(model: Model) -> Tensor:
    """Samples or, for the model without a network before it, what that would give."""
    if type(model).__name__ == "SpeechT5Model":
        return torch.ones(1, CODES, model.config.hidden_size)
    return torch.ones(1, SAMPLES)


def _to_speak(model: Model) -> Tensor:
    is_bare = type(model).__name__ == "SpeechT5Model"
    return torch.ones(1, CODES, model.config.hidden_size if is_bare else model.config.num_mel_bins)


def _codebook_tokens(model: Model) -> Tensor:
    return torch.ones(model.config.decoder.num_codebooks, TOKENS, dtype=torch.long)


SOUND_MAKERS: dict[str, Maker] = {
    "input_values": ones(1, SAMPLES),
    "input_features": mel,
    "input_features_mask": counts(1, MEL_FRAMES),
    "feature_attention_mask": counts(1, MEL_FRAMES),
}

_WINDOW: dict[str, Maker] = {
    "input_features": _whole_window,
    "input_features_mask": _whole_window_mask,
    "feature_attention_mask": _whole_window_mask,
}
_WAVE: dict[str, Maker] = {"input_values": ones(1, 1, SAMPLES)}
_MASKED_WAVE: dict[str, Maker] = {**_WAVE, "padding_mask": counts(1, SAMPLES)}
_STACKED: dict[str, Maker] = {"input_features": _stacked_mel}
_BY_BINS: dict[str, Maker] = {"input_features": _mel_by_bins}
# A clip as an image of time by bins; two of them would be fused.
_CLIP: dict[str, Maker] = {
    "input_features": ones(1, 1, 1_001, "num_mel_bins"),
    "is_longer": flags(1, 1, value=False),
}
_LATENTS: dict[str, Maker] = {"latents": ones(1, "hidden_size", CODES)}

_CODEBOOKS: dict[str, Maker] = {
    "input_ids": counts("num_codebooks", TOKENS),
    "attention_mask": counts(1, TOKENS),
}

_SHARED: tuple[tuple[tuple[str, ...], dict[str, Maker]], ...] = (
    (("audioflamingo3", "audioflamingo3_encoder", "glmasr", "glmasr_encoder",
      "moss_transcribe_diarize_audio", "musicflamingo", "qwen2_audio", "qwen2_audio_encoder",
      "voxtral", "voxtral_encoder", "whisper"), _WINDOW),
    (("clvp", "qwen2_5_omni_thinker", "qwen3_asr", "qwen3_asr_encoder", "qwen3_omni_moe_thinker",
      "voxtral_realtime_encoder"), _BY_BINS),
    (("musicgen_decoder", "musicgen_melody_decoder"), _CODEBOOKS),
    (("dac", "encodec", "higgs_audio_v2_tokenizer", "mimi", "mimi_encoder", "neucodec", "pe_audio",
      "pe_audio_encoder", "pocket_tts_audio_tokenizer", "pocket_tts_audio_tokenizer_encoder",
      "vibevoice_acoustic_tokenizer", "xcodec"), _WAVE),
    (("vibevoice", "vibevoice_asr"), _MASKED_WAVE),
    (("fun_asr_nano", "fun_asr_nano_encoder", "granite_speech5_ctc", "granite_speech5_encoder"),
     _STACKED),
    (("clap", "clap_audio_model"), _CLIP),
    (("mimi_decoder", "pocket_tts_audio_tokenizer_decoder"), _LATENTS),
)  # fmt: skip

SOUNDS: dict[str, dict[str, Maker]] = {
    **{model_type: layout for types, layout in _SHARED for model_type in types},
    "audio-spectrogram-transformer": {"input_values": ones(1, "max_length", "num_mel_bins")},
    # Sounds come as codes already, which are tokens.
    "csm": {"input_values": left_out},
    "gemma3n": {"input_features_mask": flags(1, MEL_FRAMES)},
    # Its mask is over the features that sound becomes: none is hidden.
    **{
        name: {"input_features_mask": left_out}
        for name in ("granite_speech", "granite_speech_plus")
    },
    "dia": {"decoder_input_ids": counts(1, TOKENS, 9)},
    # One token of text, and one for each of 32 codebooks.
    "kyutai_speech_to_text": {"input_ids": counts(1, TOKENS, 33), "input_values": left_out},
    # A token of text for every eight frames.
    "voxtral_realtime": {**_BY_BINS, "input_ids": counts(1, MEL_FRAMES // 8, value=5)},
    # Its other modality is heard in chunks that only its feature extractor knows.
    "dots3_note": {"input_features": left_out},
    "gemma3n_audio": {"audio_mel": mel, "audio_mel_mask": flags(1, MEL_FRAMES, value=False)},
    "moss_transcribe_diarize": {**_WINDOW, "padding_mask": counts(1, SAMPLES)},
    "musicgen": {"input_values": left_out, "decoder_input_ids": _codebook_tokens},
    "musicgen_melody": {
        "input_features": ones(1, CODES, "num_chroma"),
        "decoder_input_ids": _codebook_tokens,
    },
    "nemotron3_5_transcribe_word_timestamp": {"inputs_embeds": ones(1, CODES, "hidden_size")},
    "pop2piano": {"input_features": ones(1, CODES, "d_model"), "input_ids": left_out},
    "seamless_m4t": {"input_features": _mel_without_text},
    "seamless_m4t_v2": {"input_features": _mel_without_text},
    "speech-encoder-decoder": {"input_features": left_out},
    "speecht5": {
        "input_values": _spoken,
        "decoder_input_values": _to_speak,
        "speaker_embeddings": ones(1, "speaker_embedding_dim"),
    },
    # Samples, and their spectrogram of 50 frames a second.
    "xcodec2": {
        **_WAVE,
        "input_features": _mel_at_50_hertz,
        "input_features_mask": counts(1, SAMPLES // 320),
    },
    "vibevoice_acoustic_tokenizer_decoder": {"hidden_states": ones(1, "hidden_size", CODES)},
    "vibevoice_acoustic_tokenizer_encoder": {"hidden_states": ones(1, 1, SAMPLES)},
}
