"""Traps of console formats that real logs hold, each with all that is read of it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tests.logs import Points, points, read_text

from chronicle.errors import LogError
from chronicle.model import Role
from chronicle.readers import read

NAN = math.nan


def mllog(key: str, value: str, **metadata: object) -> str:
    fields = ", ".join(f'"{name}": {value}' for name, value in metadata.items())
    return (
        f':::MLLOG {{"time_ms": 1746123382361, "key": "{key}", "value": {value}, "metadata": {{{fields}}}}}\n'
    )


# name -> format, text, all points, the axis
TRAPS: dict[str, tuple[str, str, Points, str]] = {
    "a NaN loss that the Trainer filtered": (
        "hf-console",
        "{'loss': 2.5, 'grad_norm': 1.0, 'epoch': 0.1}\n{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.2}\n",
        {"loss": [(1, 2.5), (2, 0.0)], "grad_norm": [(1, 1.0), (2, NAN)], "epoch": [(1, 0.1), (2, 0.2)]},
        "row",
    ),
    "a clock in each line of the Trainer": (
        "hf-console",
        "{'loss': 2.5, 'epoch': 0.1, 'train_runtime': 9.5}\n"
        "{'loss': 2.25, 'epoch': 0.2, 'train_runtime': 20.0}\n"
        "{'train_runtime': 21.0, 'train_loss': 2.4, 'epoch': 0.2}\n",
        {"loss": [(1, 2.5), (2, 2.25)], "epoch": [(1, 0.1), (2, 0.2)],
         "train_runtime": [(1, 9.5), (2, 20.0)]},
        "row",
    ),
    "a bar that stands at 0 when its line comes": (
        "hf-console",
        "  0%|  | 0/10 [00:00<?, ?it/s]\n{'loss': 2.5, 'epoch': 0.5}\n"
        "  0%|  | 0/10 [00:01<?, ?it/s]\n 50%|##  | 5/10 [00:02<00:02, 2.50it/s]\n",
        {"loss": [(0, 2.5)], "epoch": [(0, 0.5)]},
        "step",
    ),
    "a data set's bar is not the bar of the training": (
        "hf-console",
        "Map: 100%|██| 7/7 [00:00<00:00]\r  0%|          | 0/9 [00:00<?, ?it/s]\n"
        "{'loss': 2.5, 'epoch': 0.1}\n 33%|███       | 3/9 [00:01<00:02]\r100%|██| 2/2 [00:01<00:00]\r"
        "{'eval_loss': 2.0, 'epoch': 0.1}\n100%|██| 2/2 [00:01<00:00]\r 33%|███       | 3/9 [00:01<00:02]\n",
        {"loss": [(3, 2.5)], "epoch": [(3, 0.1), (3, 0.1)], "eval_loss": [(3, 2.0)]},
        "step",
    ),
    "the bar of an evaluation that a terminal kept behind a line of the training": (
        "hf-console",
        " 33%|███       | 3/9 [00:01<00:02]{'eval_loss': 2.0, 'epoch': 1.0}\n{'loss': 2.5, 'epoch': 1.0}\n"
        "100%|██| 2/2 [00:01<00:00]\n 67%|███       | 6/9 [00:02<00:01]{'eval_loss': 1.5, 'epoch': 2.0}\n"
        "{'loss': 2.25, 'epoch': 2.0}\n100%|██| 2/2 [00:01<00:00]\n 67%|███       | 6/9 [00:02<00:01]\n"
        "100%|███       | 9/9 [00:03<00:00]\n{'train_runtime': 9.0, 'epoch': 3.0}\n"
        "{'eval_loss': 1.25, 'epoch': 3.0}\n",
        {"eval_loss": [(3, 2.0), (6, 1.5), (9, 1.25)],
         "epoch": [(3, 1.0), (3, 1.0), (6, 2.0), (6, 2.0), (9, 3.0)],
         "loss": [(3, 2.5), (6, 2.25)]},
        "step",
    ),
    "a terminal that kept only the bars before the lines, and a second training": (
        "hf-console",
        " 92%|█▏| 12500/13605 [28:51<2:06, 6.88s/it]\n{'loss': 2.5, 'epoch': 4.59}\n"
        " 96%|█▌| 13000/13605 [29:48<1:08, 6.81s/it]\n{'loss': 2.25, 'epoch': 4.78}\n"
        "100%|██| 13605/13605 [30:56<00:00, 6.81s/it]\n{'train_runtime': 9.5, 'epoch': 5.0}\n"
        "100%|██| 13605/13605 [30:56<00:00, 6.81s/it]\n  0%|  | 0/400 [00:00<?, ?it/s]\n"
        " 25%|▏ | 100/400 [00:01<00:03]\r{'loss': 1.5, 'epoch': 1.0}\n 25%|▏ | 100/400 [00:01<00:03]\n",
        {"loss": [(12500, 2.5), (13000, 2.25), (100, 1.5)],
         "epoch": [(12500, 4.59), (13000, 4.78), (100, 1.0)]},
        "step",
    ),
    "a terminal that kept only the last bar": (
        "hf-console",
        "  0%|  | 0/1000 [00:00<?, ?it/s]\n{'loss': 2.5, 'epoch': 0.8}\n{'loss': 2.25, 'epoch': 1.6}\n"
        "{'train_runtime': 9.5, 'epoch': 2.0}\n100%|██| 1000/1000 [00:09<00:00]\n",
        {"loss": [(400, 2.5), (800, 2.25)], "epoch": [(400, 0.8), (800, 1.6)]},
        "step",
    ),
    "a bar that does not wait for the line, in 2.5 epochs": (
        "hf-console",
        "  0%|  | 0/5 [00:00<?]\n{'loss': 2.5, 'epoch': 0.5}\n 20%|  | 1/5 [00:01<00:04]\n"
        "{'loss': 2.25, 'epoch': 1.0}\n 40%|▏ | 2/5 [00:02<00:03]\n 60%|▏ | 3/5 [00:03<00:02]\n"
        "{'loss': 2.0, 'epoch': 1.5}\n 80%|▏ | 4/5 [00:04<00:01]\n"
        "{'loss': 1.75, 'epoch': 2.0}\n 80%|▏ | 4/5 [00:04<00:01]\n"
        "{'loss': 1.5, 'epoch': 2.5}\n100%|▏ | 5/5 [00:05<00:00]\n{'train_runtime': 9.5, 'epoch': 2.5}\n",
        {"loss": [(1, 2.5), (2, 2.25), (3, 2.0), (4, 1.75), (5, 1.5)],
         "epoch": [(1, 0.5), (2, 1.0), (3, 1.5), (4, 2.0), (5, 2.5)]},
        "step",
    ),
    "a second launch of another length, after one that was killed": (
        "hf-console",
        "  0%|  | 0/9 [00:00<?]\n{'loss': 2.5, 'epoch': 0.5}\n 11%|  | 1/9 [00:01<00:08]\n"
        "{'loss': 2.25, 'epoch': 1.0}\n 22%|▏ | 2/9 [00:02<00:07]\nTraceback (most recent call last):\n"
        "  0%|  | 0/20 [00:00<?]\n{'loss': 2.0, 'epoch': 1.0}\n 10%|▏ | 2/20 [00:01<00:09]\n"
        "{'loss': 1.75, 'epoch': 1.5}\n 15%|▏ | 3/20 [00:01<00:09]\n",
        {"loss": [(1, 2.5), (2, 2.25), (2, 2.0), (3, 1.75)],
         "epoch": [(1, 0.5), (2, 1.0), (2, 1.0), (3, 1.5)]},
        "step",
    ),
    "a second training whose bars were not kept either": (
        "hf-console",
        "{'loss': 2.5, 'epoch': 0.5}\n{'loss': 2.25, 'epoch': 1.0}\n{'train_runtime': 9.5, 'epoch': 1.0}\n"
        "{'eval_loss': 2.0, 'epoch': 1.0}\n{'loss': 1.5, 'epoch': 0.75}\n{'loss': 1.25, 'epoch': 1.5}\n"
        "{'loss': 3.0, 'epoch': 0.5}\n",
        {"loss": [(1, 2.5), (2, 2.25), (1, 1.5), (2, 1.25), (1, 3.0)],
         "epoch": [(1, 0.5), (2, 1.0), (2, 1.0), (1, 0.75), (2, 1.5), (1, 0.5)], "eval_loss": [(2, 2.0)]},
        "row",
    ),
    "a line that tells its step": (
        "hf-console",
        "{'loss': 2.5, 'epoch': 0.1, 'global_step/max_steps': '5/873', 'percentage': '0.1%'}\n"
        "  1%|  | 7/873 [00:01<00:02]\n{'loss': 2.25, 'epoch': 0.2, 'step': 10}\n",
        {"loss": [(5, 2.5), (10, 2.25)], "epoch": [(5, 0.1), (10, 0.2)]},
        "step",
    ),
    "llama2.c": (
        "nanogpt",
        "step 0: train loss 10.5, val loss 10.25\n1 | loss 10.5 | lr 1.0e-05 | 300.5ms | mfu 1.25%\n",
        {"train loss": [(0, 10.5)], "val loss": [(0, 10.25)], "loss": [(1, 10.5)], "lr": [(1, 1e-05)],
         "ms": [(1, 300.5)], "mfu": [(1, 1.25)]},
        "step",
    ),
    "nanoGPT's lines, and others between them": (
        "nanogpt",
        "step 0/9 | loss 4.5 | 12.5 ms | 5,000 tok/s\n[eval] step 0 val loss 4.25\n"
        "step 1/9 | loss 4.0 | 12.0 ms | 5,120 tok/s\n[eval] step 1 loss 3.75\nsaved step 1 to a/b.pt\n",
        {"loss": [(0, 4.5), (1, 4.0)], "ms": [(0, 12.5), (1, 12.0)], "tok/s": [(0, 5000.0), (1, 5120.0)],
         "val loss": [(0, 4.25)], "eval/loss": [(1, 3.75)]},
        "step",
    ),
    "a bar that is there only at the end": (
        "hf-console",
        "{'loss': 2.5, 'epoch': 0.8}\n{'loss': 2.25, 'epoch': 1.6}\n100%|██| 1000/1000 [00:09<00:00]\n"
        "{'loss': 2.0, 'epoch': 1.8}\n",
        {"loss": [(1, 2.5), (2, 2.25), (3, 2.0)], "epoch": [(1, 0.8), (2, 1.6), (3, 1.8)]},
        "row",
    ),
    "lines that a buffer held back until the training had ended": (
        "hf-console",
        "  0%|  | 0/20 [00:00<?]\n 50%|▏ | 10/20 [00:05<00:05]\n100%|██| 20/20 [00:10<00:00]\n"
        "{'loss': 2.5, 'epoch': 1.5}\n{'loss': 2.25, 'epoch': 2.0}\n{'train_runtime': 9.5, 'epoch': 2.0}\n",
        {"loss": [(15, 2.5), (20, 2.25)], "epoch": [(15, 1.5), (20, 2.0)]},
        "step",
    ),
    "lines that a buffer held back": (
        "hf-console",
        " 10%|▏ | 100/1000 [00:01<00:09]\n 20%|▏ | 200/1000 [00:02<00:08]\n 30%|▏ | 300/1000 [00:03<00:07]\n"
        "{'loss': 2.5, 'epoch': 0.1}\n{'loss': 2.25, 'epoch': 0.2}\n{'loss': 2.0, 'epoch': 0.3}\n"
        " 40%|▏ | 400/1000 [00:04<00:06]\n",
        {"loss": [(100, 2.5), (200, 2.25), (300, 2.0)], "epoch": [(100, 0.1), (200, 0.2), (300, 0.3)]},
        "step",
    ),
    "lines behind the only bar, as W&B keeps what a terminal showed": (
        "hf-console",
        "  0%|  | 0/100 [00:00<?]\n 42%|▏ | 40/100 [28:49<39:13]Traceback (most recent call last):\n"
        "{'loss': 2.5, 'epoch': 0.1}\n{'loss': 2.25, 'epoch': 0.2}\n{'loss': 2.0, 'epoch': 0.4}\n",
        {"loss": [(10, 2.5), (20, 2.25), (40, 2.0)], "epoch": [(10, 0.1), (20, 0.2), (40, 0.4)]},
        "step",
    ),
    "a last line below a full bar, and no summary": (
        "hf-console",
        " 50%|▏ | 1/2 [00:01<00:01]\n{'loss': 2.5, 'epoch': 1.0}\n"
        "100%|██| 2/2 [00:02<00:00]\n{'loss': 2.25, 'epoch': 2.0}\n",
        {"loss": [(1, 2.5), (2, 2.25)], "epoch": [(1, 1.0), (2, 2.0)]},
        "step",
    ),
    "a line that a buffer held back to the summary": (
        "hf-console",
        "  0%|  | 0/2 [00:00<?]\n 50%|▏ | 1/2 [00:01<00:01]\n{'loss': 2.5, 'epoch': 1.0}\n"
        " 50%|▏ | 1/2 [00:01<00:01]\n100%|██| 2/2 [00:02<00:00]\n100%|██| 2/2 [00:02<00:00]\n"
        "{'loss': 2.25, 'epoch': 2.0}\n{'train_runtime': 9.5, 'epoch': 2.0}\n",
        {"loss": [(1, 2.5), (2, 2.25)], "epoch": [(1, 1.0), (2, 2.0)]},
        "step",
    ),
    "lines that the program and `tee` wrote into one log": (
        "hf-console",
        "  0%|  | 0/9 [00:00<?]\n{'loss': 2.5, 'epoch': 0.5}\n{'loss': 2.5, 'epoch': 0.5}\n"
        " 11%|  | 1/9 [00:01<00:08]\n{'loss': 2.25, 'epoch': 1.0}\n{'loss': 2.25, 'epoch': 1.0}\n"
        " 22%|▏ | 2/9 [00:02<00:07]\n{'loss': 2.25, 'epoch': 1.5}\n 33%|▏ | 3/9 [00:02<00:06]\n",
        {"loss": [(1, 2.5), (2, 2.25), (3, 2.25)], "epoch": [(1, 0.5), (2, 1.0), (3, 1.5)]},
        "step",
    ),
    "lines that a buffer held back to an evaluation": (
        "hf-console",
        " 25%|▏ | 100/400 [00:01<00:03]\n 50%|▏ | 200/400 [00:02<00:02]\n 50%|▏ | 1/2 [00:00<00:00]\n"
        "{'loss': 2.5, 'epoch': 0.25}\n{'loss': 2.25, 'epoch': 0.5}\n100%|▏ | 2/2 [00:01<00:00]\n"
        " 75%|▏ | 300/400 [00:03<00:01]\n{'loss': 2.0, 'epoch': 0.75}\n 75%|▏ | 300/400 [00:03<00:01]\n",
        {"loss": [(100, 2.5), (200, 2.25), (300, 2.0)], "epoch": [(100, 0.25), (200, 0.5), (300, 0.75)]},
        "step",
    ),
    "lines that a buffer held back to the end of the log": (
        "hf-console",
        " 10%|▏ | 100/400 [00:01<00:03]\n{'loss': 2.5, 'epoch': 0.25}\n 10%|▏ | 100/400 [00:01<00:03]\n"
        " 50%|▏ | 200/400 [00:02<00:02]\n 75%|▏ | 300/400 [00:03<00:01]\n100%|▏ | 400/400 [00:04<00:00]\n"
        "{'loss': 2.25, 'epoch': 0.5}\n{'loss': 2.0, 'epoch': 0.75}\n{'loss': 1.75, 'epoch': 1.0}\n",
        {"loss": [(100, 2.5), (200, 2.25), (300, 2.0), (400, 1.75)],
         "epoch": [(100, 0.25), (200, 0.5), (300, 0.75), (400, 1.0)]},
        "step",
    ),
    "numbers in strings, and an overflow between": (
        "fairseq",
        '2021-03-08 12:31:36 | INFO | train_inner | {"loss": "16.5", "num_updates": "100"}\n'
        "gradient overflow detected, ignoring gradient, setting loss scale to: 16.0\n"
        '2021-03-08 12:31:39 | INFO | valid_held | {"valid_loss": "9.5", "valid_num_updates": "100"}\n',
        {"loss": [(100, 16.5)], "loss_scale": [(100, 16.0)], "valid_loss": [(100, 9.5)]},
        "step",
    ),
    "the log format of hydra": (
        "fairseq",
        "[2022-05-01 10:00:00,123][fairseq.trainer][INFO] - NOTE: gradient overflow detected, ignoring"
        " gradient, setting loss scale to: 8.0\n"
        '[2022-05-01 10:00:01,123][train_inner][INFO] - {"epoch": 1, "loss": "7.5", "num_updates": "200"}\n'
        "[2022-05-01 10:00:02,123][valid][INFO] - epoch 001 | valid on x | loss 6.5 | num_updates 200\n",
        {"loss_scale": [(0, 8.0)], "epoch": [(200, 1.0)], "loss": [(200, 7.5)], "valid_loss": [(200, 6.5)]},
        "step",
    ),
    "ranks that nothing tells apart": (
        "torchtitan",
        "[titan] - INFO - step: 10  loss:  8.25  grad_norm:  0.5  memory: 27.5GiB(29.01%)  tps: 6,001\n"
        "[titan] - INFO - step: 10  loss:  8.25  grad_norm:  0.5  memory: 26.5GiB(28.01%)  tps: 6,000\n",
        {"loss": [(10, 8.25)], "grad_norm": [(10, 0.5)], "memory": [(10, 27.5)], "tps": [(10, 6001.0)]},
        "step",
    ),
    "nanms is no NaN": (
        "modded-nanogpt",
        "step:1/9 train_loss:nan train_time:84ms step_avg:nanms\n"
        "step:2/9 train_loss:9.5 train_time:0.2s step_avg:95.25ms\n",
        {"train_loss": [(1, NAN), (2, 9.5)], "train_time": [(1, 84.0), (2, 200.0)], "step_avg": [(2, 95.25)]},
        "step",
    ),
    "source code that prints such lines": (
        "modded-nanogpt",
        'print(f"step:{step}/{n} train_loss:{loss:.4f} train_time:{ms:.0f}ms step_avg:{avg:.2f}ms")\n'
        "step:0/9 val_loss:10.5 train_time:0ms step_avg:nanms\n",
        {"val_loss": [(0, 10.5)], "train_time": [(0, 0.0)]},
        "step",
    ),
    "thousands and percents": (
        "torchtitan",
        "step: 10  loss:  8.25  memory: 27.5GiB(29.01%)  tps: 1,006,722  mfu: 12.5%\n",
        {"loss": [(10, 8.25)], "memory": [(10, 27.5)], "tps": [(10, 1006722.0)], "mfu": [(10, 12.5)]},
        "step",
    ),
    "blanks before the signs": (
        "nanogpt",
        "step 0 : train loss 4.25 , val loss 4.5\niter 0 : loss 4.25 , time 996.75 ms\n"
        "iter 10 : loss 3.5 , time 63.5 ms\nstep 20 : train loss 3.25 , val loss 3.5\n",
        {"train loss": [(0, 4.25), (20, 3.25)], "val loss": [(0, 4.5), (20, 3.5)],
         "loss": [(0, 4.25), (10, 3.5)], "time": [(0, 996.75), (10, 63.5)]},
        "step",
    ),
    "steps in thousands": (
        "nanogpt",
        "step 0 | loss 10.5 | tokens 0.0B\nstep 1,000 | loss 8.25 | tokens 0.5B\n"
        "step 1,250,000/2,000,000 | loss 2.5 | tokens 1.5B\n",
        {"loss": [(0, 10.5), (1000, 8.25), (1250000, 2.5)]},
        "step",
    ),
    "other names for the same columns": (
        "nanogpt",
        "step 5/19073 | loss: 4.5 | lr: 6.0e-04 | norm: 0.5 | time: 405.5ms | tokens/sec: 1292\n",
        {
            "loss": [(5, 4.5)], "lr": [(5, 6e-4)], "norm": [(5, 0.5)], "time": [(5, 405.5)],
            "tokens/sec": [(5, 1292.0)],
        },
        "step",
    ),
    "a block's summary carries the step it began with": (
        "mlperf",
        mllog("block_start", "null", samples_count=0)
        + mllog("tracked_stats", '{"train_step_time": 5.5, "reduced_train_loss": 7.5}', step=8.0)
        + mllog("tracked_stats", '{"train_step_time": 5.0, "reduced_train_loss": NaN}', step=16.0)
        + mllog("tracked_stats", '{"train_step_time": 5.25, "throughput": 90.5}', step=0),
        {
            "train_step_time": [(8, 5.5), (16, 5.0)], "reduced_train_loss": [(8, 7.5), (16, NAN)],
            "block/train_step_time": [(16, 5.25)], "block/throughput": [(16, 90.5)],
        },
        "step",
    ),
    "steps of an evaluation that count on their own, and two trials in a file": (
        "mlperf",
        mllog("run_start", "null")
        + mllog("tracked_stats", '{"reduced_train_loss": 7.5}', step=800.0)
        + mllog("tracked_stats", '{"validation_step_time": 1.5}', step=8)
        + mllog("eval_accuracy", "0.5", samples_count=800)
        + mllog("run_stop", "null", status='"aborted"')
        + mllog("run_start", "null")
        + mllog("tracked_stats", '{"reduced_train_loss": 7.25}', step=400.0),
        {
            "reduced_train_loss": [(800, 7.5), (400, 7.25)], "validation_step_time": [(800, 1.5)],
            "eval_accuracy": [(800, 0.5)],
        },
        "step",
    ),
    "a step that is a list, a value that is null, and ranks before": (
        "mlperf",
        mllog("init_start", "null") * 50
        + mllog("train_loss", "null", samples_count=8)
        + "0: " + mllog("train_loss", "1.5", samples_count=80, lr=0.25)
        + mllog("eval_accuracy", '"0.5"', samples_count="[2, 13]"),
        {"train_loss": [(80, 1.5)], "lr": [(80, 0.25)], "eval_accuracy": [(80, 0.5)]},
        "sample",
    ),
    "iterations counted anew in each epoch": (
        "dllogger",
        'DLLL {"datetime": "2020-06-03 16:05:41", "type": "LOG", "step": [0, 0], "data": {"loss": 2.5}}\n'
        'DLLL {"datetime": "2020-06-03 16:05:42", "type": "LOG", "step": [0, 1], "data": {"loss": 2.0}}\n'
        'DLLL {"datetime": "2020-06-03 16:05:43", "type": "LOG", "step": [1, 0], "data": {"loss": "1.5"}}\n',
        {"epoch": [(0, 0.0), (1, 0.0), (2, 1.0)], "loss": [(0, 2.5), (1, 2.0), (2, 1.5)]},
        "step",
    ),
    "running means of an epoch before its end": (
        "keras-console",
        "Epoch 1/2\r 1/5 [=>....] - ETA: 1s - loss: 9.5\r5/5 [=====] - 1s 9ms/step - loss: 4.5\r"
        "5/5 [=====] - 1s 9ms/step - loss: 4.5 - val_loss: 5.5\nEpoch 2/2\r 3/5 [==>..] - ETA - loss: 3\n",
        {"loss": [(1, 4.5)], "val_loss": [(1, 5.5)]},
        "epoch",
    ),
    "a full bar behind a number, where a notebook lost what went back to its line": (
        "keras-console",
        "Epoch 1/3\n 726/1328 [==>..] - ETA: 12s - loss: 0.21328/1328 [=====] - 32s 24ms/step - loss: 0.5\n"
        "Epoch 2/3\n1328/1328 [=====] - 32s 24ms/step - loss: 0.25\n"
        "Epoch 3/3\n 81/1328 [=>..] - ETA: 9s - loss: 0.1251328/1328 [=====] - 32s 24ms/step - loss: 0.75\n",
        {"loss": [(1, 0.5), (2, 0.25), (3, 0.75)]},
        "epoch",
    ),
    "a clock before the epochs": (
        "keras-console",
        "2019-08-03T17:17:59.741Z Epoch 1/2\r\n5/5 [=====] - 1s 9ms/step - loss: 4.5\n"
        "2019-08-03T17:18:59.741Z Epoch 2/2\r\n5/5 [=====] - 1s 9ms/step - loss: 3.5\n",
        {"loss": [(1, 4.5), (2, 3.5)]},
        "epoch",
    ),
    "a loop that fits one epoch at a time, as version 1 told it": (
        "keras-console",
        "fit 1\nEpoch 1/1\nEpoch 00000: val_loss improved from inf to 3.5\n4s - loss: 4.5 - val_loss: 3.5\n"
        "fit 2\nEpoch 1/1\n4s - loss: 3.25 - val_loss: 3.75\n"
        "fit 3\nEpoch 1/1\n4s - loss: 3.0 - val_loss: 3.5\n",
        {"loss": [(1, 4.5), (2, 3.25), (3, 3.0)], "val_loss": [(1, 3.5), (2, 3.75), (3, 3.5)]},
        "epoch",
    ),
    "a model that is made again in a loop that fits one epoch at a time": (
        "keras-console",
        "Total params: 1,234\nEpoch 1/1\n4s - loss: 4.5\nEpoch 1/1\n4s - loss: 3.5\n"
        "Total params: 1,234\nEpoch 1/1\n4s - loss: 4.25\nEpoch 1/1\n4s - loss: 3.25\n",
        {"loss": [(1, 4.5), (2, 3.5), (1, 4.25), (2, 3.25)]},
        "epoch",
    ),
    "a bar in the loop of another trainer, which tells its epochs in lines of its own": (
        "keras-console",
        "".join(
            f"Epoch [{epoch}/9],  Loss: {9 - epoch}.5, Train_Acc: 0.25\n"
            f"7/7 [=====] - 3s 12ms/step - aux_loss: {epoch}.25\n"
            for epoch in range(1, 9)
        ),
        {
            "Loss": [(epoch, 9.5 - epoch) for epoch in range(1, 9)],
            "Train_Acc": [(epoch, 0.25) for epoch in range(1, 9)],
            "aux_loss": [(epoch, epoch + 0.25) for epoch in range(1, 9)],
        },
        "epoch",
    ),
    "a learning rate among the words": (
        "mlx",
        "Iter 10: Train loss 2.5, Learning Rate 1.000e-05, It/sec 0.5, Tokens/sec 201.5, Peak mem 14.9 GB\n",
        {
            "Train loss": [(10, 2.5)], "Learning Rate": [(10, 1e-5)], "It/sec": [(10, 0.5)],
            "Tokens/sec": [(10, 201.5)], "Peak mem": [(10, 14.9)],
        },
        "step",
    ),
    "validation and training of one step": (
        "llm.c",
        "s:250 tel:6.25\ns:250 eval:0.25\ns:250 trl:6.5 lr:2.0e-04 norm:inf\n",
        {"tel": [(250, 6.25)], "eval": [(250, 0.25)], "trl": [(250, 6.5)], "lr": [(250, 2e-4)],
         "norm": [(250, math.inf)]},
        "step",
    ),
}  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS)
def test_trap(trap: str, tmp_path: Path) -> None:
    name, text, expected, axis = TRAPS[trap]
    attempt = read_text(tmp_path, text)
    assert attempt.facts["format"] == name
    assert attempt.axis == axis
    assert repr(points(attempt)) == repr(expected)


def test_a_filtered_nan_is_told(tmp_path: Path) -> None:
    _, text, _, _ = TRAPS["a NaN loss that the Trainer filtered"]
    (fault,) = read_text(tmp_path, text).faults
    assert (fault.what, fault.count) == (
        "loss is logged as 0.0 where grad_norm is not finite: the Trainer filtered a NaN loss", 1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("benchmark", "role", "unit", "axis"),
    [
        ("gpt3", Role.VALIDATION_LOSS, "nats/token", "token"),
        ("llama31_405b", Role.VALIDATION_LOSS, "nats/token", "sample"),
        ("rnnt", Role.VALIDATION_LOSS, "word error rate", "epoch"),
        ("bert", Role.VALIDATION_SCORE, None, "sample"),
        ("resnet", Role.VALIDATION_SCORE, None, "epoch"),
    ],
)
def test_the_benchmark_says_what_eval_accuracy_is(
    benchmark: str, role: Role, unit: str | None, axis: str, tmp_path: Path
) -> None:
    text = mllog("submission_benchmark", f'"{benchmark}"') + mllog("eval_accuracy", "2.5", epoch_num=4)
    attempt = read_text(tmp_path, text)
    series = attempt.series["eval_accuracy"]
    assert (series.role, series.unit, attempt.axis) == (role, unit, axis)


@pytest.mark.parametrize(("status", "ended"), [("success", "finished"), ("aborted", "aborted")])
def test_how_a_run_of_mlperf_ended_is_a_fact(status: str, ended: str, tmp_path: Path) -> None:
    text = mllog("eval_accuracy", "0.5", epoch_num=4) + mllog("run_stop", "null", status=f'"{status}"')
    assert read_text(tmp_path, text).facts["ended"] == ended


def test_a_damaged_record_costs_one_record(tmp_path: Path) -> None:
    good = mllog("train_loss", "1.5", samples_count=8)
    attempt = read_text(tmp_path, good + good[:60] + "\n" + good.replace("8}", "16}"))
    assert points(attempt) == {"train_loss": [(8, 1.5), (16, 1.5)]}
    assert [(f.where[-1], f.what) for f in attempt.faults] == [
        ("2", "the record is not valid JSON; the line was skipped")
    ]


def test_a_machine_fault_stands_at_the_step_of_the_log(tmp_path: Path) -> None:
    text = (
        "s:0 trl:10.5 lr:0.000001 norm:15.37\ns:1 trl:10.25 lr:0.000001 norm:15.37\n"
        "slurmstepd: error: *** JOB 77 ON nid001 CANCELLED AT 2024-04-20T09:09:37 DUE TO TIME LIMIT ***\n"
    )
    (fault,) = read_text(tmp_path, text).faults
    assert (fault.kind, fault.host, fault.at_step, fault.at_time) == (
        "time-limit", "nid001", 1, 1713604177.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reason"),
    {
        "1 2.5\n2 2.25\n": "holds numbers without names",
        "s:1 lr:0.1\n": "no reader knows this format",
        "step 5 of the plan | buy milk\n": "no reader knows this format",
        "TRAIN:\n  BOX_LOSS: 1.0\n  RPN_LOSS: 2.0\n  CLS_LOSS: 0.1\n  L_LOSS: 0.25\n" * 12: "no reader",
    }.items(),
)
def test_what_only_looks_alike_is_not_claimed(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(text)
    with pytest.raises(LogError, match=reason):
        read(tmp_path / "notes.txt")


def test_mlperf_keeps_what_was_told_before_the_first_step(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    lines = [
        mllog("eval_accuracy", "0.25", epoch_num=0),
        *(mllog("train_loss", f"{i}.5", step=i) for i in (5, 10, 15)),
    ]
    log.write_text("".join(lines))
    (attempt,) = read(log)
    assert attempt.series["eval_accuracy"].steps.tolist() == [5]
    assert attempt.series["train_loss"].steps.tolist() == [5, 10, 15]


def test_what_stops_keras_behind_the_last_bar_of_an_epoch_stands_at_that_epoch(tmp_path: Path) -> None:
    epochs = "".join(f"Epoch {n}/9\n10/10 - 5s - loss: {2 / n:.4f}\n" for n in range(1, 6))
    attempt = read_text(tmp_path, epochs + "KeyboardInterrupt\n")
    assert [(fault.what, fault.at_step) for fault in attempt.faults] == [
        ("stopped by hand (KeyboardInterrupt)", 5)
    ]
    attempt = read_text(tmp_path, epochs + "Epoch 6/9\n 3/10 [===>.......] - ETA: 3s\nKeyboardInterrupt\n")
    assert [fault.at_step for fault in attempt.faults] == [5]
