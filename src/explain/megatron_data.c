/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of Megatron-LM's pretrain_gpt.py (commit d98e8a64, 22 August 2026): tokens and tokenizers. */
#include "explain/megatron.h"
#include "explain/word_rows.h"

static const char cache_why[] =
    "how the index of samples is built and kept; the samples are the same";
static const char tok_detail_why[] = "a detail of a Python tokenizer; trine reads tokenizer.json";
static const char fim_why[] = "fill-in-the-middle data is not built yet";
static const char sft_why[] = "supervised fine-tuning is not built yet";

static const struct tri_word words[] = {
    VALUE("dataloader-type", NULL, TRI_UNDERSTOOD, "dataloader_type", NULL),
    LIST("data-path", NULL, TRI_UNDERSTOOD, "data_path", NULL),
    VALUE("phase-transition-iterations", NULL, TRI_LATER, NULL,
          "data that changes by phase is not built yet"),
    VALUE("split", NULL, TRI_UNDERSTOOD, "split", NULL),
    LIST("train-data-path", NULL, TRI_UNDERSTOOD, "train_data_path", NULL),
    LIST("valid-data-path", NULL, TRI_UNDERSTOOD, "valid_data_path", NULL),
    LIST("test-data-path", NULL, TRI_UNDERSTOOD, "test_data_path", NULL),
    VALUE("data-args-path", NULL, TRI_LATER, NULL, "write the paths of the file into data_path"),
    VALUE("per-split-data-args-path", NULL, TRI_LATER, NULL,
          "write the paths of the file into data_path"),
    VALUE("per-dataset-sequences-path", NULL, TRI_NO_EFFECT, NULL, cache_why),
    FLAG("dataloader-fast-cache-load", TRI_NO_EFFECT, NULL, cache_why),
    FLAG("dataloader-defer-npy-index-mmap", TRI_NO_EFFECT, NULL, cache_why),
    VALUE("data-cache-path", NULL, TRI_NO_EFFECT, NULL, cache_why),
    NEGATED("no-mmap-bin-files", TRI_NO_EFFECT, NULL, cache_why),
    FLAG("mock-data", TRI_LATER, NULL,
         "invented data is not built yet; 'trine data encode' makes a small corpus"),
    VALUE("sample-rate", "1.0", TRI_LATER, NULL, "using a part of each epoch is not built yet"),
    VALUE("num-workers", "2", TRI_NO_EFFECT, NULL, cache_why),
    FLAG("reset-position-ids", TRI_UNDERSTOOD, "reset_position_ids=true", NULL),
    FLAG("reset-attention-mask", TRI_UNDERSTOOD, "reset_attention_mask=true", NULL),
    FLAG("dataloader-inter-document-masking", TRI_UNDERSTOOD,
         "reset_attention_mask=true reset_position_ids=true",
         "use --reset-attention-mask --reset-position-ids"),
    FLAG("eod-mask-loss", TRI_UNDERSTOOD, "eod_mask_loss=true", NULL),
    NEGATED("no-create-attention-mask-in-dataloader", TRI_NO_EFFECT, NULL, cache_why),
    VALUE("num-dataset-builder-threads", "1", TRI_NO_EFFECT, NULL, cache_why),
    VALUE("object-storage-cache-path", NULL, TRI_NO_EFFECT, NULL, cache_why),
    VALUE("mid-level-dataset-surplus", "0.005", TRI_NO_EFFECT, NULL, cache_why),
    FLAG("allow-ambiguous-pad-tokens", TRI_NO_EFFECT, NULL, tok_detail_why),
    FLAG("fim-data", TRI_LATER, NULL, fim_why),
    VALUE("fim-rate", "0.5", TRI_LATER, NULL, fim_why),
    VALUE("fim-spm-rate", "0.5", TRI_LATER, NULL, fim_why),
    VALUE("fim-split-sample", NULL, TRI_LATER, NULL, fim_why),
    VALUE("fim-fragment-rate", NULL, TRI_LATER, NULL, fim_why),
    VALUE("fim-no-prefix", NULL, TRI_LATER, NULL, fim_why),
    VALUE("fim-prefix-token", "<fim_prefix>", TRI_LATER, NULL, fim_why),
    VALUE("fim-middle-token", "<fim_middle>", TRI_LATER, NULL, fim_why),
    VALUE("fim-suffix-token", "<fim_suffix>", TRI_LATER, NULL, fim_why),
    VALUE("fim-pad-token", "<fim_pad>", TRI_LATER, NULL, fim_why),
    VALUE("fim-eod-token", "<|endoftext|>", TRI_LATER, NULL, fim_why),
    VALUE("vocab-file", NULL, TRI_DIFFERS, NULL,
          "trine reads one tokenizer.json instead of vocabulary and merges: data.tokenizer"),
    VALUE("merge-file", NULL, TRI_DIFFERS, NULL,
          "trine reads one tokenizer.json instead of vocabulary and merges: data.tokenizer"),
    VALUE("tokenizer-type", NULL, TRI_DIFFERS, "=",
          "trine reads tokenizer.json of any kind; the type is not asked"),
    VALUE("tokenizer-model", NULL, TRI_DIFFERS, "=", "trine reads tokenizer.json"),
    VALUE("tokenizer-metadata", NULL, TRI_NO_EFFECT, NULL, tok_detail_why),
    LIST("tokenizer-special-tokens", NULL, TRI_NO_EFFECT, NULL, tok_detail_why),
    VALUE("tiktoken-pattern", NULL, TRI_NO_EFFECT, NULL, tok_detail_why),
    VALUE("tiktoken-num-special-tokens", "1000", TRI_NO_EFFECT, NULL, tok_detail_why),
    FLAG("tokenizer-sentencepiece-legacy", TRI_NO_EFFECT, NULL, tok_detail_why),
    NEGATED("no-tokenizer-sentencepiece-ignore-extra-whitespaces "
            "disable-tokenizer-sentencepiece-ignore-extra-whitespaces",
            TRI_NO_EFFECT, NULL, tok_detail_why),
    FLAG("tokenizer-hf-no-use-fast", TRI_NO_EFFECT, NULL, tok_detail_why),
    FLAG("tokenizer-hf-no-include-special-tokens", TRI_NO_EFFECT, NULL, tok_detail_why),
    FLAG("trust-remote-code", TRI_NO_EFFECT, NULL, tok_detail_why),
    VALUE("null-tokenizer-eod-id", NULL, TRI_UNDERSTOOD, "eod_token_id", "use --eod-token-id"),
    VALUE("null-tokenizer-pad-id", "-1", TRI_NO_EFFECT, NULL,
          "samples are full; nothing is padded"),
    VALUE("chat-template", NULL, TRI_LATER, NULL, sft_why),
    FLAG("use-gigatoken", TRI_NO_EFFECT, NULL, tok_detail_why),
    FLAG("enable-msc", TRI_NO_EFFECT, NULL, cache_why),
    FLAG("sft", TRI_LATER, NULL, sft_why),
    VALUE("sft-tokenizer-prompt-format", "nemotron-h-aligned", TRI_LATER, NULL, sft_why),
};

const struct tri_word_list tri_megatron_data = {
    .section = TRI_SECTION_DATA, .words = words, .num = sizeof words / sizeof words[0]};
