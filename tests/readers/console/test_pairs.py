"""nanotron, DeepSpeed and any lines of names and numbers: their traps, with all that is read of each."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from tests.logs import points, read_text
from tests.work import in_proportion

from chronicle.metrics.aliases import in_english
from chronicle.readers.console import generic
from chronicle.readers.console.counting import Epochs
from chronicle.readers.console.line_formats import short_number
from chronicle.readers.console.pairs import pairs
from chronicle.readers.console.text_tables import pairs_in
from chronicle.readers.facts import arguments_in
from chronicle.readers.text import Head

LINES = {
    "[3] Training loop begins": {},
    "Speed: 71.5 samples/sec 1970.25 tokens/sec 1.25 updates/sec\tperplexity=29.5": {
        "samples/sec": 71.5, "tokens/sec": 1970.25, "updates/sec": 1.25, "perplexity": 29.5,
    },
    "iter 75 1.75 iters/s loss 14.5 acc 0.5": {"iter": 75, "loss": 14.5, "acc": 0.5},
    "loss 14.5 iters/s 1.75": {"loss": 14.5, "iters/s": 1.75},
    "step#: 200  average loss: 1.5  steps without apparent progress: 40": {
        "step": 200, "average loss": 1.5, "steps without apparent progress": 40,
    },
    "('cost: ', 0.5)": {"cost": 0.5},
    "Epoch: 5 | mAP@0.5: 0.5 | mAP@0.50:0.95: 0.25": {"Epoch": 5, "mAP@0.5": 0.5, "mAP@0.50-0.95": 0.25},
    "---------loss---------:  tensor(0.5, device='cuda:3', grad_fn=<DivBackward0>)": {"loss": 0.5},
    "Test accuracy ...... : 0.75": {"Test accuracy": 0.75},
    "eta: 0:17:54  epoch/iter: 49/12899  total_loss: 1.5": {"epoch": 49, "iter": 12899, "total_loss": 1.5},
    "Test 26, loss: 3.5, test acc: 0.25": {"Test epoch": 26, "loss": 3.5, "test acc": 0.25},
    "[2025-01-02 INFO train.py line 404 34387] Epoch: [1/50] MainLoss 2.5": {"Epoch": 1, "MainLoss": 2.5},
    "Epoch[20] train: Cost=227 sec, lr=0.5": {"Epoch": 20, "Cost time": 227, "lr": 0.5},
    "[5]:    train's l2:0.5    valid's l2:0.75": {"progress": 5, "train's l2": 0.5, "valid's l2": 0.75},
    "('epoch', 3, 'valid loss =', 0.5)": {"epoch": 3, "valid loss": 0.5},
    "At iteration 209/400/403, Mean rms=5.25%": {"At iteration": 400, "Mean rms": 5.25},
    "Epoch[2 of 9]-Minibatch[ 271- 280, 12.50%]: error = 1.50 * 1000; time = 0.25s": {
        "Epoch": 2, "Minibatch": 280, "error": 1.5, "time": 0.25,
    },
    "Accuracy-Flip: 0.50750+-0.00704": {"Accuracy-Flip": 0.5075},
    "acc 0.5±0.125": {"acc": 0.5},
    "[35]\ttrain-logloss:0.5+0.000417\ttest-logloss:0.75+0.002922": {
        "progress": 35, "train-logloss": 0.5, "test-logloss": 0.75,
    },
    "100:    learn: 0.5        test: 0.75    best: 0.25 (99)   total: 1.5s    remaining: 6.48s": {
        "iteration": 100, "learn": 0.5, "test": 0.75, "total time": 1.5,
    },
    'Request: HEAD https://host/tokenizer_config.json "HTTP/1.1 307 Temporary Redirect"': {},
    "Epoch 19 [0.3s + 0.2s]: train==[0.02=0.01 + 0.01], recall=[0.03, 0.04]": {
        "Epoch": 19, "train loss": 0.02, "recall": 0.03,
    },
    "Cost after iteration 1000: 0.195": {"iteration": 1000, "Cost": 0.195},
    "Test Accuracy of the model on the 10000 test images: 83.5 %": {"test Accuracy": 83.5},
    "train loss 0.5 tok 0.25 em 0.75 | 2.5 tok |": {"train loss": 0.5, "tok": 0.25, "em": 0.75},
    "Loss at step  100 0.875": {"step": 100, "Loss": 0.875},
    " 7 out of 40 epochs, loss_g: 0.5, counter: 1 out of 3": {"progress": 7, "loss_g": 0.5, "counter": 1},
    "NCE Loss at epoch 2 and iteration 500 is 0.875": {"epoch": 2, "iteration": 500, "NCE Loss": 0.875},
    "Loss at epoch 2, iteration 500: 0.875": {"epoch": 2, "iteration": 500, "Loss": 0.875},
    "{'loss': [0.5, 0.25, 0.125, 0.0625], 'val_loss': [0.75, 0.5, 0.25, 0.125]}": {},
    "  Rewards   => Avg: -6.5e-01, Min: -1.5, Max:  2.5": {
        "Rewards Avg": -0.65, "Rewards Min": -1.5, "Rewards Max": 2.5,
    },
    "Episode reward: mean=0.5 std=0.25 max=1.5": {
        "Episode reward mean": 0.5, "Episode reward std": 0.25, "Episode reward max": 1.5,
    },
    "step=7, pmove=0.5, energy=-1.40625+0.0013j": {"step": 7, "pmove": 0.5, "energy": -1.40625},
    "epoch 7 energy: -2.5e-01-1.5E-04j, variance 0.5": {"epoch": 7, "energy": -0.25, "variance": 0.5},
    "Loss | avg: 2.5, last: 2.25": {"Loss avg": 2.5, "last": 2.25},
    "Total reward in global step 33: 1.375": {"step": 33, "Total reward": 1.375},
    "Mean return of episode 7: -12.5": {"episode": 7, "Mean return": -12.5},
    "Loss after 100 steps: 0.70625": {"step": 100, "Loss": 0.70625},
    "Training loss (for one batch) at step 200: 0.875": {"step": 200, "Training loss (for one batch)": 0.875},
    "Epoch: 1/20... Step: 10... Loss: 3.25... Val Loss: 3.5": {
        "Epoch": 1, "Step": 10, "Loss": 3.25, "Val Loss": 3.5,
    },
    "The loss of epoch0is:tf.Tensor(8.125, shape=(), dtype=float32)": {"epoch": 0, "loss": 8.125},
    "Average loss for epoch 3/10 is 0.5, accuracy: 0.75": {"epoch": 3, "Average loss": 0.5, "accuracy": 0.75},
    "1m 5s (- 20m 30s) (5000 5%) 2.8533": {"iteration": 5000, "loss": 2.8533},
    "LOG-->fit--->0m 24s (5000 6%) 3.5270": {"iteration": 5000, "loss": 3.527},
    "120 [D loss: 0.693, acc.: 50%] [G loss: 0.743]": {
        "iteration": 120, "D loss": 0.693, "acc": 50, "G loss": 0.743,
    },
    "E200/500 | Loss:0.0009 | TrA:100.00%": {"epoch": 200, "Loss": 0.0009, "TrA": 100},
    "[Ep 02] loss 0.82/0.81 | Acc 75.10%": {"Ep": 2, "train_loss": 0.82, "val_loss": 0.81, "Acc": 75.1},
    "Epoch 2 val loss: 0.5/1.0": {"Epoch": 2},
    "Epoch 9, global step 1680: 'val_loss' reached 0.375 (best 0.375), saving model to 'a.ckpt' as top 1": {
        "Epoch": 9, "global step": 1680, "best val_loss": 0.375,
    },
    "Epoch 9, global step 1680: 'val_acc' reached 0.75 (best 0.75), saving model": {
        "Epoch": 9, "global step": 1680,
    },
    "Epoch 9, global step 1680: 'val_loss' was not in top 3": {"Epoch": 9, "global step": 1680},
    "Metric val_loss improved by 0.004 >= min_delta = 0.0. New best score: 0.031": {"best val_loss": 0.031},
    "Validation loss decreased (0.5000 --> 0.3750).  Saving model": {"improved Validation loss": 0.375},
    "  -> Saved best (loss: 0.2284)": {"improved loss": 0.2284},
    "New best! Loss: 0.5": {"improved Loss": 0.5},
    "val_loss improved from inf to 2.5e-05, model saved": {"improved val_loss": 2.5e-05},
    "Saved PixelSNAIL model at epoch 3 with loss: 0.375": {"epoch": 3, "improved loss": 0.375},
    "Saved 3 models with loss: 0.375": {"Saved": 3, "models with loss": 0.375},
    "[1600/16000]\t[L1: 0.25][VGG: 0.5][Total: 0.75]\t5.2+1.3s": {
        "progress": 1600, "L1 loss": 0.25, "VGG loss": 0.5, "Total loss": 0.75,
    },
    "Epoch12: loss 0.5": {"Epoch": 12, "loss": 0.5},
    "[epoch3/20] loss 0.5": {"epoch": 3, "loss": 0.5},
    "Train Step#400 | loss 0.5": {"Train Step": 400, "loss": 0.5},
    "Ep3/9 Iter20: loss 0.5": {"Ep": 3, "Iter": 20, "loss": 0.5},
    "loading epoch12.pt, acc: 0.5": {"acc": 0.5},
    "Epoch 4, Agent 0 reward: -3.5 | Agent 1 reward: 2.5, top 1 acc: 0.5, top 5 acc: 1": {
        "Epoch": 4, "Agent_0 reward": -3.5, "Agent_1 reward": 2.5, "top 1 acc": 0.5, "top 5 acc": 1,
    },
    "Epoch 10 val: 0.5 (best at Epoch 7: 0.25)": {"Epoch": 10, "val": 0.5, "best at Epoch": 7},
    "Step 3: Loss 1 = 0.5, Loss 2 = 0.25, Lap 7: 0.125": {"Step": 3, "Loss_1": 0.5, "Loss_2": 0.25, "Lap": 7},
    "Epoch 00017: reducing learning rate of group 0 to 2.5000e-03.": {"Epoch": 17, "learning rate": 0.0025},
    "tensor([0.5, 0.25], device='cuda:0')": {},
    "  Loss: policy=1.75, value=0.5, total=2.25 (0.7s)": {
        "policy loss": 1.75, "value loss": 0.5, "total loss": 2.25
    },
    "Losses: rec=1.5 kl_div=0.25 lr=0.001": {"rec loss": 1.5, "kl_div loss": 0.25, "lr": 0.001},
    "Epoch: 001/020 | Test. Acc.: 97.5% | Loss: 0.125": {"Epoch": 1, "Acc": 97.5, "Loss": 0.125},
    "Epoch: 3 loss = 0.125f0": {"Epoch": 3, "loss": 0.125},
    "Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.301": {"val/mAP": 0.301},
    "Average Recall  (AR) @[ IoU=0.50:0.95 | area= large | maxDets=100 ] = 0.195": {},
    "Epoch[5] Batch [20-40]\tSpeed: 25.69 samples/sec\tRPNAcc=0.997": {
        "Epoch": 5, "Batch": 40, "Speed": 25.69, "RPNAcc": 0.997,
    },
    "lr, 0.0005": {"lr": 0.0005},
    "Train loss, 1.5e-3": {"Train loss": 0.0015},
    "chair, 989": {},
    "Step, 3, Loss, 0.125, PSNR, 9.5,": {"Step": 3, "Loss": 0.125, "PSNR": 9.5},
    "3 chairs, 989, tables, 12": {},
    "*** Eval: E 3 B 50 loss rc:0.25 rf:0.125 t:0.375  lr": {
        "epoch": 3, "batch": 50, "loss rc": 0.25, "rf": 0.125, "t": 0.375,
    },
    "epoch: 3, dataset: CVC-300, dice: 0.86": {"epoch": 3, "CVC-300/dice": 0.86},
    "sofa --> mAP : 0.75": {"sofa/mAP": 0.75},
    "              ORG: precision:  93.50%; recall:  97.75%; FB1:  95.50  1841": {
        "ORG/precision": 93.5, "ORG/recall": 97.75, "ORG/FB1": 95.5,
    },
    "accuracy:  98.75%; precision:  93.50%; recall:  95.25%; FB1:  94.50": {
        "accuracy": 98.75, "precision": 93.5, "recall": 95.25, "FB1": 94.5,
    },
    "Eval Epoch num 8 | val loss 0.5": {"Eval Epoch": 8, "val loss": 0.5},
    "Epoch 1 | Train MSE+L1: 62.5 | loss 1e+3": {"Epoch": 1, "Train MSE+L1": 62.5, "loss": 1000},
    "step   911 | loss: 4.988997 | lr 5.9697e-04 | dt: 405.63ms | tok/sec: 1292520.48": {
        "step": 911, "loss": 4.988997, "lr": 0.00059697, "dt": 405.63, "tok/sec": 1292520.48,
    },
    "Iter 25: Train loss 1.593, Learning Rate 7.0e-05, It/sec 0.999": {
        "Iter": 25, "Train loss": 1.593, "Learning Rate": 7e-05, "It/sec": 0.999,
    },
    "Epoch: [0][  10/5005]\tTime  0.345 ( 0.412)\tLoss 6.9e+00 (7.0e+00)": {
        "Epoch": 0, "progress": 10, "Time": 0.345, "Loss": 6.9,
    },
    "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.259": {"Train Epoch": 1, "progress": 640, "Loss": 2.259},
    "training:  38%|##  | 7612/20000 [45:00<68:16, 3.02it/s, loss=2.31]": {"progress": 7612, "loss": 2.31},
    "[Epoch 1/10] [Batch 200/938] [D loss: 0.690123]": {"Epoch": 1, "Batch": 200, "D loss": 0.690123},
    "train 050 2.232840e+00 20.710784 73.345588": {
        "train loss": 2.23284, "train top1": 20.710784, "train top5": 73.345588,
    },
    "[rank1] step 5 loss 3.9878 tok/s 4976": {"step": 5, "loss": 3.9878, "tok/s": 4976},
    "***** Iteration #12 *****": {"Iteration": 12},
    "step 5 | Throughput: 1,023,456 tok/s | MB: 60": {"step": 5, "Throughput": 1023456, "MB": 60},
    "step 5 | loss 2.5 | 12.5 ms | 5,000 tok/s": {"step": 5, "loss": 2.5, "ms": 12.5, "tok/s": 5000},
    "After 500 training step(s), loss on batch is 2.5.": {"step": 500, "loss on batch": 2.5},
    "step=100 loss=nan grad_norm=-inf": {"step": 100, "loss": float("nan"), "grad_norm": float("-inf")},
    "Step 1,000 of 20,000: loss=2.5, tokens/s=1,234.5": {"Step": 1000, "loss": 2.5, "tokens/s": 1234.5},
    "steps: 10 loss: 7.6534 iter time (s): 3.241": {"steps": 10, "loss": 7.6534, "iter time (s)": 3.241},
    "epoch 3 train_loss 0.532 acc 81.2%": {"epoch": 3, "train_loss": 0.532, "acc": 81.2},
    "2022/03/01 eta: 1:00:49, time: 0.5": {"time": 0.5},
    "eta: 1 day, 2:00:00, iter:   3,000, lr:(2.000e-04,)": {"iter": 3000, "lr": 0.0002},
    '{"step": 10, "loss": "2.5", \'lr\': 1e-4}': {"step": 10, "loss": 2.5, "lr": 0.0001},
    "Epoch is [1/600], mini-batch is [27/1600], batch_loss is 3.08": {
        "Epoch": 1, "mini-batch": 27, "batch_loss": 3.08,
    },
    "loss[loss=0.45, over 28.0 frames. ], tot_loss[loss=0.7, over 9. frames. ], x[a=1]": {
        "loss": 0.45, "tot_loss": 0.7, "x/a": 1,
    },
    "Time taken for 1 epoch: 124.0 secs": {},
    "Epoch #3: test_reward: 10.5 ± 5.1": {"Epoch": 3, "test_reward": 10.5},
    "Epoch: 0/20,top 1 acc: 0.2585=====": {"Epoch": 0, "top 1 acc": 0.2585},
    "current step: 58013th step": {"current step": 58013},
    "[ITER 7000] PSNR 30.12 [01/01 10:00:00]": {"ITER": 7000, "PSNR": 30.12},
    "/usr/lib/a.py:238: Warning 5 | Tokens / Sec:   127.7": {"Warning": 5, "Tokens / Sec": 127.7},
    "main.py 226: v_num=0": {},
    "Ep. 1 : Up. 1000 : Sen. 1,269,755 : Cost 7.95 * 3 after 9 : Time 785.53s : L.r. 1.25e-05": {
        "epoch": 1, "update": 1000, "sentences": 1269755, "Cost": 7.95, "Time": 785.53, "L.r": 1.25e-05,
    },
    "3epoch:train:91-180batch: iter_time=0.003, loss=80.856": {
        "epoch": 3, "batch": 180, "iter_time": 0.003, "loss": 80.856,
    },
    " 1: 50.5, 60.5 avg loss, 0.001000 rate, 30.96 seconds, 64 images": {
        "iteration": 1, "loss": 50.5, "avg loss": 60.5, "rate": 0.001, "time": 30.96,
    },
    "7: 40.25, 55.5 avg, 0.000100 rate, 0.125 seconds, 448 images": {  # of its first version
        "iteration": 7, "loss": 40.25, "avg loss": 55.5, "rate": 0.0001, "time": 0.125,
    },
    "Train: [0/300][50/1251]\teta 0:12:30 lr 0.01\tloss 6.9 (6.95)": {
        "epoch": 0, "batch": 50, "lr": 0.01, "loss": 6.9,
    },
    "[0/5][ 50/1583]\tLoss_D: 1.98\tD(G(z)): 0.66 / 0.06": {
        "epoch": 0, "batch": 50, "Loss_D": 1.98, "D_G_z1": 0.66, "D_G_z2": 0.06,
    },
    "3/99 3.97G 0.0849 0.018 0.015 0.1179 196 640 0.4 0.3 0.2075 0.106 0.1 0.03 0.02": {
        "epoch": 3, "train/box_loss": 0.0849, "train/obj_loss": 0.018, "train/cls_loss": 0.015,
        "train/loss": 0.1179, "metrics/precision": 0.4, "metrics/recall": 0.3, "metrics/mAP_0.5": 0.2075,
        "metrics/mAP_0.5-0.95": 0.106, "val/box_loss": 0.1, "val/obj_loss": 0.03, "val/cls_loss": 0.02,
    },
    "Progress:  48.2% words/sec/thread:  957304 lr:  0.051771 avg.loss:  0.738 ETA:   0h 0m": {
        "progress": 482, "words/sec/thread": 957304, "lr": 0.051771, "avg.loss": 0.738,
    },
    "Epoch 3: loss: 2,982, acc: 0,502": {"Epoch": 3, "loss": 2.982, "acc": 0.502},
    "epoch = 3 loss = 12,5 lr = 1e-3": {"epoch": 3, "loss": 12.5, "lr": 0.001},
    "step 1,234 samples: 70,000": {"step": 1234, "samples": 70000},
    "step: 1,234 loss: 0.5": {"step": 1234, "loss": 0.5},
    "[1,  2000] loss: 2.162": {"epoch": 1, "batch": 2000, "loss": 2.162},
    "[3 :  12100] loss G : 2.337": {"epoch": 3, "batch": 12100, "loss G": 2.337},
    "[1, 2] 3": {},
    "Epoch(train)  [2][ 50/858]  lr: 0.01": {"epoch": 2, "batch": 50, "lr": 0.01},
    "Iter(train) [  50/858]  lr: 0.01": {"Iter(train)": 50, "lr": 0.01},
    "Iter(train)  [ 150/858]  lr: 0.01": {"Iter(train)": 150, "lr": 0.01},
    "Train: 3 [  50/1251 (  4%)]  Loss: 6.9 (6.95)": {"epoch": 3, "batch": 50, "Loss": 6.9},
    "Train net output #2: loss_cls = 0.5 (* 1 = 0.5 loss)": {"Train net output loss_cls": 0.5},
    "Train loss 10 0.9 Grad Norm 1.25 2.31s/it": {"iteration": 10, "Train loss": 0.9, "Grad Norm": 1.25},
    "     Instance: 4000; Time: 5.24s; loss: 395.6849; acc: 45476/54430=0.8355": {
        "Instance": 4000, "Time": 5.24, "loss": 395.6849, "acc": 0.8355,
    },
    "loss: tensor(2.5, device='cuda:0', grad_fn=<NllLossBackward0>), acc: 0.5": {"loss": 2.5, "acc": 0.5},
    "Epoch 2/9 train_mse=0.5 tf=0.00lr=0.001": {"Epoch": 2, "train_mse": 0.5, "tf": 0.0, "lr": 0.001},
    "idx: 7loss: tensor(0.625, device='cuda:0')": {"idx": 7, "loss": 0.625},
    "commit: 3fab12cd: 0x10ab: 2 gpu: 0cuda: yes": {},
    "{'loss': np.float64(2.5), 'kl': Array(0.5, dtype=float32)}": {"loss": 2.5, "kl": 0.5},
    "train.py:88 step=3 loss=2.5": {"step": 3, "loss": 2.5},
    "v_num: 0.000 train_loss: 2.5": {"train_loss": 2.5},
    "Step... (10 | Loss: 2.5, Learning Rate: 0.1)": {"Step": 10, "Loss": 2.5, "Learning Rate": 0.1},
    "7:\tlearn: 0.5\ttest: 0.75\tbest: 0.75 (7)\ttotal: 9ms\tremaining: 6.48s": {
        "iteration": 7, "learn": 0.5, "test": 0.75, "total time": 0.009,
    },
    "step 3 loss 2.5 min 2.1 max 3": {"step": 3, "loss": 2.5, "max": 3},
    "Score at iteration 100 is 1.4": {"iteration": 100, "score (loss)": 1.4},
    "Progress on:train 1.25kit/10.0kit rate:1.5it/s remaining:1:20 elapsed:10 postfix:loss=2.5": {
        "step": 1250, "loss": 2.5,
    },
    "epoch: 1/300 iter: 1/180 loss: 2.75(2.5) iter_time: 15(14.5) remain_time: 230:07:12": {
        "epoch": 1, "iter": 1, "loss": 2.75, "iter_time": 15,
    },
    "EPOCH[3/50] metrics PSNR=24.5\tSSIM=0.75": {"EPOCH": 3, "PSNR": 24.5, "SSIM": 0.75},
    "Epoch 3: Validation results loss 0.5, acc 0.75": {"Epoch": 3, "Validation loss": 0.5, "acc": 0.75},
    "epoch   2 | D^2=+0.0625 | R^2: 0.5 | 12.5s | FID=97.5 IS=1.75": {
        "epoch": 2, "D^2": 0.0625, "R^2": 0.5, "FID": 97.5, "IS": 1.75,
    },
    "7/1 [==--] loss: -3.5E-02 / score: +0.25(-0/+0/+0)": {"progress": 7, "loss": -0.035, "score": 0.25},
    "epoch 7 acc 0.75(±0.02) loss 0.5(+1.5 %)": {"epoch": 7, "acc": 0.75, "loss": 0.5},
    "step 7 loss 0.5(avg 0.625) acc 0.25(best: 0.75)": {
        "step": 7, "loss": 0.5, "avg": 0.625, "acc": 0.25, "best": 0.75,
    },
    "Epoch 7/9 | Train: loss=0.5 acc=0.75 | Val: loss=1.0 acc=0.25": {
        "Epoch": 7, "loss": 0.5, "acc": 0.75, "val/loss": 1, "val/acc": 0.25,
    },
    "[Epoch 7] Train loss: 0.5, f1: 0.75, Test loss: 1.0, f1: 0.25": {
        "Epoch": 7, "Train loss": 0.5, "f1": 0.75, "Test loss": 1, "test/f1": 0.25,
    },
    "epoch 7 train: epoch 7 loss 0.5; test: epoch 7": {"epoch": 7, "loss": 0.5},
    "import numpy as np": {},
    "numpy==1.26.4": {},
    "for i in range(100): print(i)": {},
}  # fmt: skip


IN_ENGLISH = {
    "第3轮 训练损失：0.5，验证损失：0.75": "epoch 3 train loss:0.5, validation loss:0.75",
    "Epoche 3/9 - Trainingsverlust: 0.5, Lernrate: 1e-3": "epoch 3/9 - train loss: 0.5, learning rate: 1e-3",
    "époque 3 : perte = 0.5 ; perte de validation = 0.75": "epoch 3: loss= 0.5 ; validation loss= 0.75",
    "Época 3 | pérdida de entrenamiento: 0.5": "epoch 3 | train loss: 0.5",
    "エポック 3/9 損失: 0.5": "epoch 3/9 loss: 0.5",
    "Эпоха 3, потери: 0.5": "epoch 3, loss: 0.5",
    "最佳模型：Epoch 43  Dice = 0.75": "best model:Epoch 43 Dice= 0.75",
    "训练次数：100, Loss：0.5": "iteration:100, Loss:0.5",
    "整体测试集上的正确率: 0.5": "整体 test accuracy: 0.5",
    "-----开始第3轮训练-----": "-----开始 epoch 3 train -----",
    "步骤 100: 损失: 0.5": "step 100: loss: 0.5",
    "에포크 3, 배치 11/120, 로스: 0.5": "epoch 3, batch 11/120, loss: 0.5",
    "Потери на обучении: 0.5, точность на валидации: 0.75": "train loss: 0.5, validation accuracy: 0.75",
    "Epok 03/9 | Tr Kayıp: 0.5 | Doğrulama Kaybı: 0.75": "epoch 03/9 | Tr loss: 0.5 | validation loss: 0.75",
    "Epoche 100 - Fehlerrate: 0.5": "epoch 100 - error rate: 0.5",
    "没有提升 (3/5)": "没有 improvement (3/5)",
    "訓練損失: 0.5 - 驗證損失: 0.75": "train loss: 0.5 - validation loss: 0.75",
    "準確率: 0.5 - 學習率: 0.1": "accuracy: 0.5 - learning rate: 0.1",
    "損失: 0.5 | 勾配ノルム: 1.5": "loss: 0.5 | grad norm: 1.5",
    "Époque 3, Erreur moyenne: 0.5": "epoch 3, error mean: 0.5",
    "Epok 3 | Anlık Hata: 0.5": "epoch 3 | current error: 0.5",
    "passed the property test, loss 0.5": "passed the property test, loss 0.5",
}


@pytest.mark.parametrize("line", IN_ENGLISH)
def test_lines_in_other_languages(line):
    assert in_english(line) == IN_ENGLISH[line]


SETTINGS = {
    "lr=3e-4 batch_size=32 amp=True": {"lr": 3e-4, "batch_size": 32, "amp": True},
    "{'lr': 0.1, 'data': 'c4', 'resume': None}": {"lr": 0.1, "data": "c4"},
    "Namespace(arch='resnet18', lr=0.1)": {},
    "the loss=2.5 of lr=0.1 is fine": {},
}


@pytest.mark.parametrize("line", SETTINGS)
def test_settings_of_a_program(line):
    assert arguments_in(line) == SETTINGS[line]
    assert arguments_in(line, anywhere=True).items() >= SETTINGS[line].items()


@pytest.mark.parametrize("line", LINES)
def test_pairs_of_a_line(line):
    assert repr({pair.name: pair.value for pair in pairs_in(line)}) == repr(
        {k: float(v) for k, v in LINES[line].items()}
    )


@pytest.mark.parametrize(
    "piece", ["a-", "a ", "a: ", "(a", "1/", "nan", "a.1", "a(b", "1,111", "loss: 4.98, ", " "]
)
def test_a_hostile_line_costs_no_square_of_its_length(piece):
    assert in_proportion(lambda length: pairs(piece * (length // len(piece))), 1_000_000)


def test_steps_that_begin_again_in_each_epoch_go_on():
    course = Epochs()
    places = [(0, 0), (0, 10), (0, 20), (1, 0), (1, 10), (2, 0), (1, 5), (3, 40)]
    assert [course.step(*place) for place in places] == [0, 10, 20, 30, 40, 50, 35, 70]


def test_an_evaluation_that_counts_its_batches_like_the_training_does_not_shorten_the_epoch():
    epochs = Epochs()
    assert [epochs.step(1, step) for step in (100, 200, 300, 400)] == [100, 200, 300, 400]
    assert epochs.step(1, 50) == 50
    assert epochs.go_on(np.array([100, 150])).tolist() == [100, 150]
    assert epochs.step(2, 100) == 500


def test_the_length_of_an_epoch_counts_where_it_is_told():
    course = Epochs()
    places = [(1, 90, 100), (2, 0, 100), (2, 90, 100), (3, 0, 100)]
    assert [course.step(*place) for place in places] == [90, 100, 190, 200]


def test_an_epoch_of_more_batches_than_it_announced_is_as_long_as_it_was():
    course = Epochs()
    places = [(0, n, 4) for n in range(10)] + [(1, n, 4) for n in range(3)]
    assert [course.step(*place) for place in places] == list(range(13))
    course = Epochs()
    places = [(1, 64, 100), (1, 128, 100), (2, 64, 100)]  # the last batch is not full
    assert [course.step(*place) for place in places] == [64, 128, 164]


@pytest.mark.parametrize(
    ("cell", "value"),
    [("85.8G", 85.8e9), ("987", 987.0), ("2.1M", 2.1e6), ("1e-05", 1e-5), ("nan", math.nan), ("x", None)],
)
def test_short_numbers_of_nanotron(cell, value):
    assert repr(short_number(cell)) == repr(value)


def log_of(line: str, n: int = 12) -> str:
    return "".join(line.format(i=i, e=i // 4, b=i % 4 * 10, loss=3 - i / 10) + "\n" for i in range(n))


COUNTED = {
    "step {i} loss {loss:.2f}": list(range(12)),
    "epoch {e} batch {b}/40 loss {loss:.2f}": [i // 4 * 40 + i % 4 * 10 for i in range(12)],
    "[{e}][{b}/40] epoch {e} loss={loss:.2f}": [i // 4 * 40 + i % 4 * 10 for i in range(12)],
    "loss: {loss:.2f}, epoch: {i}": list(range(12)),
    "idx: {i}, loss: {loss:.2f}": list(range(12)),
    "Round {i}: test loss 0.5, loss: {loss:.2f}": list(range(12)),
    "epoch {e} global_step {i} step {b} loss {loss:.2f}": list(range(12)),
    "{{step: {i}, loss: {loss:.2f}}}": list(range(12)),
    "[{i}]\ttrain-x:0.5\tloss:{loss:.2f}": list(range(12)),
    "[{e}/9][{b}/40]\tloss: {loss:.2f}": [i // 4 * 40 + i % 4 * 10 for i in range(12)],
    "({e}/9) ({b}/40) loss {loss:.2f}": [i // 4 * 40 + i % 4 * 10 for i in range(12)],
    "[{e}, {b:5}] loss: {loss:.2f}": [i // 4 * 40 + i % 4 * 10 for i in range(12)],
    "Epoch: {e}/9\n     Instance: {b}; loss: {loss:.2f}": [i // 4 * 40 + i % 4 * 10 for i in range(12)],
    "I0101 12:00:00.000000  123 solver.cpp:228] Iteration {i}, loss = {loss:.2f}": list(range(12)),
    "2023-11-09T18:26:52.318Z\tn1:0\tolmo.train:550\tINFO\t[step={i}/73]\n    loss={loss:.2f}": list(
        range(12)
    ),
}


@pytest.mark.parametrize("line", COUNTED)
def test_what_counts_the_steps(line, tmp_path):
    attempt = read_text(tmp_path, log_of(line))
    assert attempt.facts["format"] == "key-value"
    assert points(attempt)["loss"] == [
        (step, float(f"{3 - i / 10:.2f}")) for i, step in enumerate(COUNTED[line])
    ]
    assert attempt.axis == ("epoch" if line.endswith("epoch: {i}") else "step")


PROSE = "".join(f"{'so ' * number}it goes on\n" for number in range(50))
NO_LOGS = {
    "notes.txt": "loss was 2.5 at step 100\n" * 3,
    "pip.log": "".join(f"Downloading package-{i}.whl ({i} kB) {i}/100\n" for i in range(50)),
    "listing.txt": "".join(f"-rw-r--r-- 1 root root {i * 100} Nov 21 file{i}\n" for i in range(50)),
    "server.log": "".join(
        f"2025-01-01 10:00:{i:02d} GET /index.html status=200 bytes={i * 7}\n" for i in range(50)
    ),
    "constant.log": "step 5 loss 2.5\n" * 50,
    "train.py": PROSE + log_of("step {i} loss {loss}", 50),
    "README.md": PROSE + log_of("step {i} loss {loss}", 50),
}


@pytest.mark.parametrize("name", NO_LOGS)
def test_other_text_is_not_claimed(name, tmp_path):
    (tmp_path / name).write_text(NO_LOGS[name])
    assert not generic.identify(Head.of(tmp_path / name))


@pytest.mark.parametrize("name", ["train.py", "README.md", "train.sh", "log", "run.7"])
def test_the_name_of_a_log_that_is_nothing_else_does_not_matter(name, tmp_path):
    assert points(read_text(tmp_path, log_of("step {i} loss {loss}", 50), name))["loss"][:2] == [
        (0, 3.0),
        (1, 2.9),
    ]


def test_lines_of_chance_are_not_claimed(tmp_path):
    random_, words = random.Random(0), ["loss", "step", "1", "2.5", ":", "=", "epoch", "7/9", "\n", "x", " "]
    for number in range(30):
        (tmp_path / f"{number}.txt").write_text(" ".join(random_.choices(words, k=400)))
        assert not generic.identify(Head.of(tmp_path / f"{number}.txt"))


def test_the_epochs_of_a_federated_round_are_within_it(tmp_path):
    rounds = (
        "".join(f"Round {i} | Client {client} | Local epoch {e}/2 | Loss {3 / i:.2f}\n" for client in (0, 1))
        for i in range(1, 13)
        for e in (1, 2)
    )
    attempt = read_text(tmp_path, "".join(rounds))
    assert [step for step, _ in points(attempt)["Loss"]] == [i for i in range(1, 13) for _ in range(4)]


def test_columns_of_training_and_validation(tmp_path):
    prefix = "2022-09-19 20:36:19,622 - INFO - allennlp.training"
    epochs = (
        f"{prefix}.trainer - Epoch {i}/11\n"
        f"{prefix}.tensorboard_writer -                Training |  Validation\n"
        f"{prefix}.tensorboard_writer - loss        | {8 / (4 + i):.3f}     | {3 - i / 8:.3f}\n"
        f"{prefix}.tensorboard_writer - memory_MB   | 1580.6    | N/A\n"
        for i in range(12)
    )
    columns = points(read_text(tmp_path, "".join(epochs)))
    assert columns["Training loss"] == [(i, round(8 / (4 + i), 3)) for i in range(12)]
    assert columns["Validation loss"] == [(i, round(3 - i / 8, 3)) for i in range(12)]


def test_bars_that_a_narrow_terminal_cut_off(tmp_path):
    epochs = (
        "      Epoch    GPU_mem   box_loss   cls_loss       Size\n"
        f"{i:>7}/100       9.3G      {9 - i / 8:.3f}      3.969        640:\n"
        f"{i:>7}/100       9.3G      {3 - i / 8:.3f}      1.969        640: 1\n"
        for i in range(1, 13)
    )
    columns = points(read_text(tmp_path, "".join(epochs)))
    assert columns["box_loss"] == [(i, round(3 - i / 8, 3)) for i in range(1, 13)]


def test_lines_before_the_first_step_are_facts_and_later_ones_belong_to_the_last_step(tmp_path):
    text = (
        "lr: 0.001, batch_size: 32\n"
        + log_of("step {i} loss {loss:.2f}")
        + "val_loss: 2.5\nsaved 3 files in 2 s\n"
    )
    attempt = read_text(tmp_path, text)
    assert attempt.facts == {"format": "key-value", "config/lr": 0.001, "config/batch_size": 32.0}
    assert points(attempt)["val_loss"] == [(11, 2.5)]
    assert sorted(attempt.series) == ["loss", "val_loss"]


def test_ranks_that_repeat_each_other_are_read_once(tmp_path):
    lines = [f"[rank{rank}]: step {i} loss {3 - i / 10 + rank:.2f}" for i in range(12) for rank in (0, 1, 2)]
    assert len(read_text(tmp_path, "\n".join(lines) + "\n").series["loss"]) == 12


@pytest.mark.parametrize("line", ["[rank{}]: step={} loss={:.3f}", "12:00:01 [rank {}] step {} loss {:.3f}"])
def test_of_ranks_that_print_their_own_losses_one_is_read_until_it_stops(line, tmp_path):
    """Their order is another one at each step, and rank 2 ends after 40 of 60 steps."""
    order = [(2, 0, 1), *(tuple(np.random.default_rng(step).permutation(3)) for step in range(1, 60))]
    lines = [
        line.format(rank, step, 3 - step / 30 + rank / 10)
        for step, ranks in enumerate(order)
        for rank in ranks
        if rank != 2 or step < 40
    ]
    told = points(read_text(tmp_path, "\n".join(lines) + "\n"))["loss"]
    ranks = [round(10 * (loss - 3 + step / 30)) for step, loss in told]
    assert [step for step, _ in told] == list(range(60))
    assert (set(ranks[:40]), len(set(ranks[44:]))) == ({2}, 1)


def test_every_rank_of_deepspeed_prints_and_two_engines_are_two(tmp_path):
    line = (
        "[2023-04-18 01:53:{s:02d},000] [INFO] [logging.py:96:a] [Rank {r}] step={s}, skipped=0, lr=[{lr}]\n"
    )
    lines = [line.format(s=s, r=r, lr=lr) for s in (10, 20) for lr in (1e-05, 5e-06) for r in (0, 1)]
    assert points(read_text(tmp_path, "".join(lines))) == {
        "skipped": [(10, 0), (20, 0)],
        "lr": [(10, 1e-05), (20, 1e-05)],
        "skipped (2)": [(10, 0), (20, 0)],
        "lr (2)": [(10, 5e-06), (20, 5e-06)],
    }


def test_the_timer_of_older_versions(tmp_path):
    text = (
        "[2022-08-29 06:58:56,121] [INFO] [logging.py:68:log_dist] [Rank 0] step=20, skipped=17, lr=[5e-05]\n"
        "[2022-08-29 06:58:56,176] [INFO] [timer.py:198:stop] 0/20, RunningAvgSamplesPerSec=232.5,"
        " CurrSamplesPerSec=227.5, MemAllocated=0.36GB\n"
    )
    assert points(read_text(tmp_path, text)) == {
        "skipped": [(20, 17)],
        "lr": [(20, 5e-05)],
        "RunningAvgSamplesPerSec": [(20, 232.5)],
        "CurrSamplesPerSec": [(20, 227.5)],
        "MemAllocated": [(20, 0.36)],
    }


def test_overflows_of_both_optimizers_and_losses_of_the_script(tmp_path):
    text = (
        "[2023-11-07 01:55:08,040] [INFO] [logging.py:96:a] [Rank 0] Overflow detected. Skipping step. "
        "Attempted loss scale: 8192.0, reducing to 4096.0\n"
        "[2023-11-07 01:55:09,040] [INFO] [logging.py:96:a] [Rank 0] step=10, skipped=1, lr=[0.0001]\n"
        "2023-11-07 01:55:09.936 | INFO     | __main__:log_dist:54 - [Rank 0] Loss: 10.8766\n"
    )
    assert points(read_text(tmp_path, text)) == {
        "Attempted loss scale": [(0, 8192.0)],
        "skipped": [(10, 1)],
        "lr": [(10, 0.0001)],
        "Loss": [(10, 10.8766)],
    }


def test_epochs_of_deepspeed_chat_go_on_counting(tmp_path):
    lines = [f"epoch: {e}|step: {s}|ppo_ep: 1|act_loss: {e}.{s}" for e in (0, 1) for s in range(3)]
    attempt = read_text(tmp_path, "\n".join(lines) + "\n")
    assert points(attempt)["act_loss"] == [(0, 0.0), (1, 0.1), (2, 0.2), (3, 1.0), (4, 1.1), (5, 1.2)]


def test_a_line_of_nothing_but_members_has_no_pairs():
    assert pairs("[Client 0]" * 100_000) == []


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("prompt:         return 0 end", {}),
        ("        return -5.0 # a heavy penalty", {}),
        ("    #     return 1.5 if alive else penalty", {}),
        ("        return [0, 1]", {}),
        ("(worker)         # Return -1 if there is none", {}),
        ("Episode 5 return 23 length 100", {"Episode": 5.0, "return": 23.0, "length": 100.0}),
        ("return 23", {"return": 23.0}),
        ("        return 12.5", {"return": 12.5}),
    ],
)
def test_a_statement_in_what_a_model_wrote_is_no_return_of_an_episode(line, read):
    assert {pair.name: pair.value for pair in pairs(line)} == read


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("Epoch 3 Loss (train/val): 0.52/0.61", {"Epoch": 3.0, "train Loss": 0.52, "val Loss": 0.61}),
        ("[5] Training/Validation Loss: 0.5 / 0.6", {"Training Loss": 0.5, "Validation Loss": 0.6}),
        ("acc [train/test] = 91.2%/88.1%", {"train acc": 91.2, "test acc": 88.1}),
        (
            "WinRate: 0.5 | Loss(P/V/E): -0.01/0.07/0.3",
            {"WinRate": 0.5, "P Loss": -0.01, "V Loss": 0.07, "E Loss": 0.3},
        ),
        (
            "err (T/V): 5.5/5.2, map (T/V): 20.5/22.1",
            {"T err": 5.5, "V err": 5.2, "T map": 20.5, "V map": 22.1},
        ),
        (
            "Epoch 3 | train loss / val loss: 0.52 / 0.61",
            {"Epoch": 3.0, "train loss": 0.52, "val loss": 0.61},
        ),
        ("Images (train/val): 500/100", {"Images (train/val)": 500.0}),
        ("Batch (12/100) loss: 0.5", {"Batch": 12.0, "loss": 0.5}),
    ],
)
def test_names_in_slashes_have_a_number_each(line, read):
    assert {pair.name: pair.value for pair in pairs(line) if pair.name != "progress"} == read


def test_a_tensor_of_one_number_is_that_number():
    assert [pair.value for pair in pairs("step 3 loss: tensor([2.5], device='cuda:0')")] == [3.0, 2.5]
    assert [pair.value for pair in pairs("step 3 loss: array([[2.5]])")] == [3.0, 2.5]


def test_the_steps_that_a_loss_is_the_mean_of_belong_to_no_name():
    """As NumPyro's bar names them."""
    line = "300/3000 [00:02<00:15, 169.5it/s, init loss: 1079.0, avg. loss [151-300]: 281.5]"
    assert {"init loss": 1079.0, "loss": 281.5}.items() <= {p.name: p.value for p in pairs(line)}.items()


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("LOSS train 0.5 valid 0.6", {"LOSS train": 0.5, "LOSS valid": 0.6}),
        ("Train loss: 0.5, val: 0.6, test: 0.7", {"Train loss": 0.5, "val loss": 0.6, "test loss": 0.7}),
        (
            "Loss train 0.5 val 0.6 | Acc train 0.9 val 0.8",
            {"Loss train": 0.5, "Loss val": 0.6, "Acc train": 0.9, "Acc val": 0.8},
        ),
        ("Loss: 0.5, Train: 0.9, Val: 0.8", {"Loss": 0.5, "Train": 0.9, "Val": 0.8}),
        ("train loss 0.5 lr 0.1 val 0.6", {"train loss": 0.5, "lr": 0.1, "val": 0.6}),
    ],
)
def test_a_bare_phase_behind_a_measure_is_of_that_measure(line, read):
    """As the training loop of PyTorch's introduction prints them; PyTorch Geometric's are scores."""
    assert {pair.name: pair.value for pair in pairs(line)} == read


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("epoch 3 loss 2,9188 acc 0,027", {"epoch": 3.0, "loss": 2.9188, "acc": 0.027}),
        ("epoch 3 Verlust 12,5000", {"epoch": 3.0, "Verlust": 12.5}),
        ("epoch 1,234 loss 2.5", {"epoch": 1234.0, "loss": 2.5}),
        ("epoch 3 on GPUs 0,1", {"epoch": 3.0, "on GPUs": 0.0}),
    ],
)
def test_a_decimal_comma_may_stand_behind_a_blank(line, read):
    assert {pair.name: pair.value for pair in pairs(line)} == read


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("epoch;3;loss;0.5;acc;0.75", {"epoch": 3.0, "loss": 0.5, "acc": 0.75}),
        ("Loss [train]: 0.5 - Loss [valid]: 0.6", {"Loss (train)": 0.5, "Loss (valid)": 0.6}),
        ("E012 loss 0.5", {"epoch": 12.0, "loss": 0.5}),
        ("Epoch no. 12, loss 0.5", {"Epoch": 12.0, "loss": 0.5}),
        ("Training Loss (epoch 12): 0.5", {"epoch": 12.0, "Training Loss": 0.5}),
        ("train: 12 @ epoch:3/160 loss: 0.5", {"train iteration": 12.0, "epoch": 3.0, "loss": 0.5}),
        ("done with train loss 0.5 and val loss 0.6", {"train loss": 0.5, "val loss": 0.6}),
        ("Epoch 2: Cost on iteration 12 is 0.5", {"Epoch": 2.0, "iteration": 12.0, "Cost": 0.5}),
        ("   12 train loss: 0.5 test acc: 75.25%", {"iteration": 12.0, "train loss": 0.5, "test acc": 75.25}),
        ("loss(x_test, y_test) = 0.5f0", {"loss": 0.5}),
        ("loss(X[1], Y) = 0.5 (tracked)", {"loss": 0.5}),
        ("Epoch 12: 9016 / 10000", {"Epoch": 12.0, "correct": 9016.0}),
        ("Epoch 12 : 9016 / 10000", {"Epoch": 12.0, "correct": 9016.0}),
        ("Epoch 12: 20/469", {"Epoch": 12.0, "progress": 20.0}),
    ],
)
def test_other_ways_to_name_a_number(line, read):
    named = {pair.name.removeprefix("done with "): pair.value for pair in pairs(line)}
    assert named == read
