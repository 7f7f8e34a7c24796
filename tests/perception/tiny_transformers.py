"""Tiny Grounding DINO and SAM with random weights, saved with their processors as hub folders are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "mug", "red", "chair", "blue")


def tiny_grounding_dino(folder: Path) -> Path:
    import torch
    import transformers as hf

    torch.manual_seed(0)
    config = hf.GroundingDinoConfig(
        backbone_config=hf.SwinConfig(
            image_size=32,
            embed_dim=8,
            depths=[1, 1, 1, 1],
            num_heads=[1, 1, 2, 2],
            window_size=2,
            out_features=["stage2", "stage3", "stage4"],
        ),
        text_config=hf.BertConfig(
            vocab_size=len(WORDS),
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=64,
        ),
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        num_queries=5,
        max_text_len=16,
    )
    _save(hf.GroundingDinoForObjectDetection(config), folder)
    hf.BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)}).save_pretrained(folder)
    hf.GroundingDinoImageProcessorPil(size={"shortest_edge": 64, "longest_edge": 128}).save_pretrained(folder)
    return folder


def tiny_sam(folder: Path) -> Path:
    import torch
    import transformers as hf

    torch.manual_seed(1)
    vision = hf.SamVisionConfig(
        hidden_size=16,
        output_channels=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=64,
        patch_size=16,
        window_size=2,
        global_attn_indexes=[0],
        mlp_dim=16,
        num_pos_feats=4,
    )
    prompts = hf.SamPromptEncoderConfig(hidden_size=8, image_size=64, patch_size=16, mask_input_channels=4)
    masks = hf.SamMaskDecoderConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, mlp_dim=16, iou_head_hidden_dim=8, iou_head_depth=2
    )
    config = hf.SamConfig(
        vision_config=vision.to_dict(), prompt_encoder_config=prompts.to_dict(), mask_decoder_config=masks.to_dict()
    )
    _save(hf.SamModel(config), folder)
    hf.SamImageProcessorPil(
        size={"longest_edge": 64},
        pad_size={"height": 64, "width": 64},
        mask_size={"longest_edge": 16},
        mask_pad_size={"height": 16, "width": 16},
    ).save_pretrained(folder)
    return folder


def _save(model: Any, folder: Path) -> None:
    from transformers.utils import logging

    logging.disable_progress_bar()
    model.eval().save_pretrained(folder)
