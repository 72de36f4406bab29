"""Names of metrics as real logs spell them, and the role that chronicle gives them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from chronicle.errors import UsageError
from chronicle.metrics.aliases import ALIASES, Alias
from chronicle.metrics.roles import assign, dataset_of, plain, role_of, unit_of
from chronicle.model import Role, Series

NAMES = {
    Role.LOSS: """loss, train_loss, train/loss, train loss, train_loss_step, train_loss_epoch, lm loss,
        lm_loss, lm loss value, lm loss vs tokens, lm-loss-training/lm loss, lm-loss-training/lm loss vs
        samples, reduced_train_loss, total_loss, trl, train, average_loss, step_loss, act_loss,
        per_token_loss, per_token_loss.all, per_token_loss.average, train/per_token_loss/all,
        Loss/train, trainLoss, cross_entropy, bits_per_byte, epoch_loss, ema_loss, trn_loss, trnLoss,
        trainloss, tr_loss, loss_tr, tloss, TrainLoss, Training Loss, Trn Loss, Train_Loss, Epoch_loss,
        loss0, Loss 1, losses, train_losses, avg_train_loss, loss (train), nll, train_nll, nll_loss,
        crossentropy, cross-entropy, train_xent, bpd, bits_per_dim, objective, train_objective,
        neg_elbo, train_loss_ema, loss value, ppl, perplexity, train_ppl, Cost,
        train_cost, mse, train_mse, mae, rmse, RMSE, bce, train_bce, ce, deviance, train_err, train
        error, training's l2, learn, perte, Verlust, perdida, perda, 损失, 손실""",
    Role.DATASET_LOSS: """per_token_loss.cm4, per_token_loss.cm4.v2, per_token_loss.pmd,
        train/per_token_loss/code, loss/dataset_x, train_loss_source_web, loss_python, wiki/loss""",
    Role.VALIDATION_LOSS: """val_loss, validation/loss, val/loss, eval_loss, test/loss, test_loss, tel,
        val, final_eval_loss, validation/ctc_loss, Loss/test, valLoss, val_bpb, validation/epoch_loss,
        val/box_loss, ValLoss, valloss, Validation Loss, Valid Loss, Val_Loss, vloss_val, lossVal, loss
        (val), loss_val, Loss/valid, loss_te, te_loss, va_loss, ts_loss, cv_loss, tst_loss, Dev Loss,
        dev_loss, devloss, holdout_loss, held-out loss, hold_out_loss, val_nll, val_objective, val_bpd,
        valid_0's binary_logloss, validation_0-logloss, val_ppl, eval_perplexity, val_mse, val_bce,
        val_ce, test_error, val_err, val_cost, validation loss (avg), Validate Loss, Vali Loss,
        evaluating loss, testing_loss, 验证损失, Validierungsverlust""",
    Role.GRAD_NORM: "grad_norm, grad-norm, grad norm, gnorm, norm, train/grad_norm, hidden_gradient_norm",
    Role.LEARNING_RATE: "lr, learning_rate, train/learning_rate, lr/pg0, lr-AdamW, current_lr, metadata.lr",
    Role.THROUGHPUT: """throughput, throughput_tokens, tokens_per_sec, tok/sec, tokens/sec, tokens /
        sec, samples per second, CurrSamplesPerSec, wps, train_samples_per_second, TFLOPs, It/sec,
        iter/sec, TFLOPs per gpu (estimated), throughput per GPU (TFLOP/s/GPU), mfu""",
    Role.STEP_TIME: """elapsed time per iteration (ms), elapsed time per iteration (s), iteration-time,
        train_step_time, train_step_timing, step_avg, dt, dt_ms, time, ms/batch, sec_per_step""",
    Role.LOSS_SCALE: "loss scale, loss_scale, Attempted loss scale, dynamic loss scale, grad_scale",
    Role.RATIO: "image_to_text_ratio.all, data/share/code, mixture_weight/web",
    Role.ATTENTION_LOGIT: "max_attention_logit, attn/max_logits, attn_logits_max, qk_max",
    Role.OUTPUT_LOGIT: "z_loss, log Z, logsumexp, logits_mean, logits/max, max_logit",
    Role.UPDATE_NORM: "update_norm, optim/update_rms",
    Role.TOKENS: "consumed tokens, tokens_seen, train/tokens_seen, num_input_tokens_seen, num_tokens",
    Role.SAMPLES: "consumed samples, samples_count, samples_seen",
    Role.BATCH_SIZE: "global batch size, batch_size, bsz",
    Role.EPOCH: "epoch, train/epoch, Epoch",
    Role.SCORE: """accuracy, train/accuracy, train_acc, train/wer, metrics/mAP50(B), reward, acc0, acc1,
        trnacc, r2, R2, hits@1, sdr_mean, dice_coefficient, ep_rew_mean, train_psnr, 准确率""",
    Role.VALIDATION_SCORE: "val_accuracy, eval/bleu, test_acc, validation/wer, eval_accuracy",
    Role.OTHER: """loss_cls, loss_box_reg, loss_rpn_box_reg, train/box_loss, train/cls_loss,
        train/dfl_loss, mtp_1 loss, load_balancing_loss, seq_load_balancing_loss, moe_gate_loss,
        cri_loss, loss_temporal_512, num-zeros, params norm, validation/num_examples, number of skipped
        iterations, eval_runtime, eval_samples_per_second, eta_seconds, data_time, preemption_count,
        score, total_duration, total_flos, mem-allocated-bytes, lossless, clip_ratio,
        <script>alert(1)</script>, train_1, val_1, valid, dev, test, holdout, total, err, error, kl,
        kl_loss, elbo, train_elbo, critic_loss, d_loss, G_loss, Gen Loss, Disc Loss, policy_loss,
        lossD, loss_G, G_GAN, D_real, errG, cycle_A, idt_loss, gen/adv_loss, value_loss, vf_loss,
        entropy_loss, mse_loss, bce_loss, recon_loss, aux_loss, best_loss,
        best_val_loss, min_val_loss, loss_std, train_loss_std, val_loss_std, loss_weight, hyperdata,
        remaining""",
}
CASES = [(name, role) for role, names in NAMES.items() for name in " ".join(names.split()).split(", ")]


def log(*names: str, values: object = (3.0, 2.0, 1.0)) -> dict[str, Series]:
    """Series of these names, all with the same values."""
    steps = np.arange(3)
    return {n: Series(n, Role.OTHER, steps, np.array(values), np.full(3, np.nan)) for n in names}


def roles(series: dict[str, Series], *overrides: tuple[str, Role]) -> dict[str, str]:
    """Role by name, with the data set where there is one."""
    return {n: " ".join([s.role, s.dataset]).strip() for n, s in assign(series, overrides).items()}


@pytest.mark.parametrize(("name", "role"), [pytest.param(n, r, id=f"{r}:{n}") for n, r in CASES])
def test_a_name_has_its_role(name: str, role: Role) -> None:
    assert role_of(name) is role


def test_every_role_has_names_here_and_in_the_table() -> None:
    assert set(NAMES) == set(Role)
    assert {alias.role for alias in ALIASES} == set(Role)


@pytest.mark.parametrize("alias", ALIASES, ids=lambda alias: f"{alias.role}:{alias.seen}")
def test_the_names_a_row_quotes_have_its_role(alias: Alias) -> None:
    assert {name: role_of(name) for name in alias.seen.split(", ")} == dict.fromkeys(
        alias.seen.split(", "), alias.role
    )


def test_spelling_does_not_matter() -> None:
    assert (
        plain("train/gradNorm") == plain("Train grad-norm") == plain("train__GRAD.norm") == "train grad norm"
    )
    assert role_of("TRAIN.LOSS") is role_of("Train Loss") is role_of("trainLoss") is Role.LOSS


@pytest.mark.parametrize("name", [n for n, _ in CASES if re.fullmatch("[a-z]+(_[a-z]+)*", n)])
def test_a_name_has_its_role_however_it_is_spelled(name: str) -> None:
    words = name.split("_")
    spellings = (*(mark.join(words) for mark in " -./"), name.upper(), name.title(), " ".join(words).title())
    camel = words[0] + "".join(map(str.capitalize, words[1:]))
    assert {role_of(spelled) for spelled in (*spellings, camel)} == {role_of(name)}


@pytest.mark.parametrize(
    ("metric", "dataset"),
    [
        ("per_token_loss.cm4.v2", "cm4.v2"),
        ("train/per_token_loss/code", "code"),
        ("loss_python", "python"),
        ("train_loss_source_web", "web"),
        ("loss/dataset_x", "x"),
        ("wiki/loss", "wiki"),
        ("train/wiki_loss", "wiki"),
    ],
)
def test_data_set_of_a_loss_as_it_is_spelled(metric: str, dataset: str) -> None:
    assert dataset_of(metric) == dataset


def test_losses_by_source_beside_a_total_are_data_sets() -> None:
    assert roles(log("loss", "loss_foo", "loss_bar")) == {
        "loss": "loss",
        "loss_foo": "dataset-loss foo",
        "loss_bar": "dataset-loss bar",
    }


def test_a_known_data_set_makes_its_unknown_sister_one() -> None:
    assert roles(log("train_loss_wiki", "train_loss_foo"))["train_loss_foo"] == "dataset-loss foo"


def test_losses_beside_parts_of_the_loss_are_parts() -> None:
    assert roles(log("total_loss", "loss_cls", "loss_box_reg", "loss_novel", "loss_new")) == {
        "total_loss": "loss",
        "loss_cls": "other",
        "loss_box_reg": "other",
        "loss_novel": "other",
        "loss_new": "other",
    }


def test_one_unknown_loss_is_the_loss_unless_a_total_is_logged() -> None:
    assert roles(log("my_loss", "lr")) == {"my_loss": "loss", "lr": "learning-rate"}
    assert roles(log("loss", "my_loss")) == {"loss": "loss", "my_loss": "other"}


def test_where_no_total_is_logged_the_first_part_stands_for_it() -> None:
    parts = log("train/box_loss", "train/cls_loss", "val/box_loss", "lr/pg0")
    assert roles(parts) == {
        "train/box_loss": "loss",
        "train/cls_loss": "other",
        "val/box_loss": "validation-loss",
        "lr/pg0": "learning-rate",
    }


def test_the_first_part_is_that_of_those_logged_most() -> None:
    parts = log("box_loss", "cls_loss")
    parts["box_loss"] = replace(parts["box_loss"], steps=np.arange(1), values=np.ones(1), times=np.ones(1))
    assert roles(parts) == {"box_loss": "other", "cls_loss": "loss"}


# Names as they stand side by side in tables, with the role that each has there.
TOGETHER = """
loss0: loss, loss1: loss, acc0: score, acc1: score
critic_loss: other, gen_loss: loss
critic_loss: loss, lr: learning-rate
Gen Loss: loss, Disc Loss: other
d_loss: other, g_loss: loss
loss: loss, d_loss: other, g_loss: other
policy_loss: loss, value_loss: other, entropy_loss: other
actor_loss: loss, critic_loss: other, alpha_loss: other
loss_disc: other, loss_gen: other, loss_kl: other, loss_mel: loss
loss_disc: other, loss_gen: other, loss_mel: other, loss_1: loss
kl_loss: other, recon_loss: loss
loss: loss, loss_wave: other, loss_mag: other
score: other, loss: loss, loss_rl: other, loss_diffusion: other
loss_diffusion: loss
box_loss: loss, cls_loss: other
G_loss: other, D_loss: other, cycle_loss: loss, identity_loss: other
loss_G: loss, loss_D: other
lossD: other, lossG: loss
d_loss_real: other, d_loss_fake: other, dloss: other, gloss: loss
time: step-time, data: other, G_GAN: other, G_L1: loss, D_real: other, D_fake: other
D_A: other, G_A: other, cycle_A: loss, idt_A: other, D_B: other, G_B: other, cycle_B: other, idt_B: other
G_GAN: other, G_GAN_Feat: loss, G_VGG: other, D_real: other, D_fake: other
KLD: other, GAN: other, GAN_Feat: loss, VGG: other, D_Fake: other, D_real: other
errD: other, errG: loss, D_x: other
loss: loss, G_GAN: other, G_L1: other, D_real: other
G_GAN: other, G_L1: other, val_loss: validation-loss
D: other, G: loss, lr: learning-rate
A: other, B: other, D: other, G: other
G_GAN: other, G_L1: other, lr: learning-rate
D_real: other, D_fake: other
Loss: loss, Train: other, Val: other, Test: other
Loss: loss, Val: validation-loss
Train Loss: loss, Vali Loss: validation-loss, Test Loss: validation-loss
tloss: loss, vloss: validation-loss
t_loss: loss, v_loss: validation-loss, acc: score
v_loss: loss, lr: learning-rate
loss: loss, v_loss: other
train: loss, valid: validation-loss, total: other
Train: loss, Test: validation-loss
train: loss, dev: validation-loss, holdout: validation-loss
valid: other, test: other
train_loss: loss, test: other
objective: loss, test_loss: validation-loss, train_accuracy: score
cost: loss, accuracy: score
cost: other, loss: loss
train_mse: loss, val_loss: validation-loss, val_mse: other
loss: loss, mse: other, val_loss: validation-loss, val_mse: other
mse: loss, mae: other
perplexity: other, eval_loss: validation-loss
loss: loss, ce: other
train_ce: loss, val_ce: validation-loss
error: loss, lr: learning-rate
error: other, loss: loss
nll: loss, kl: other
elbo: other, kl_loss: loss
loss: loss, best_loss: other, loss_std: other, best_val_loss: other
train_loss: loss, train_loss_std: other, val_loss: validation-loss
Training Loss: loss, Validation Loss: validation-loss
训练损失: loss, 验证损失: validation-loss, 准确率: score
Trainingsverlust: loss, Validierungsverlust: validation-loss, Genauigkeit: score
perte: loss, perte_validation: validation-loss, exactitude: score
pérdida: loss, pérdida_validación: validation-loss
hyperdata: other, expertes: other
step_loss: loss, epoch_loss: loss
"""


@pytest.mark.parametrize("told", TOGETHER.strip().splitlines())
def test_names_side_by_side(told: str) -> None:
    expected = dict(pair.rsplit(": ", 1) for pair in told.split(", "))
    assert roles(log(*expected)) == expected


def test_of_several_gradient_norms_the_layers_are_none() -> None:
    assert roles(log("grad_norm", "grad_norm/layers.0.weight")) == {
        "grad_norm": "grad-norm",
        "grad_norm/layers.0.weight": "other",
    }


def test_time_that_only_grows_is_no_step_time() -> None:
    assert roles(log("time", values=(1.0, 2.0, 3.0))) == {"time": "other"}
    assert roles(log("time", values=(0.4, 0.5, 0.4))) == {"time": "step-time"}


def test_an_override_wins_and_the_first_of_two() -> None:
    series = log("loss", "odd", "odd/cm4")
    overrides = (("odd", Role.GRAD_NORM), ("odd.*", Role.DATASET_LOSS), ("loss", Role.OTHER))
    assert roles(series, *overrides) == {
        "loss": "other",
        "odd": "grad-norm",
        "odd/cm4": "dataset-loss odd/cm4",
    }


def test_an_override_that_is_no_regular_expression_is_named() -> None:
    with pytest.raises(UsageError, match=r"roles: '\(' is no regular expression"):
        assign(log("loss"), [("(", Role.LOSS)])


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("elapsed time per iteration (ms)", "ms"),
        ("elapsed time per iteration (s)", "s"),
        ("dt_ms", "ms"),
        ("dt", None),
        ("tokens_per_sec", "tokens/s"),
        ("CurrSamplesPerSec", "samples/s"),
        ("TFLOPs per gpu (estimated)", "TFLOP/s"),
        ("throughput", None),
        ("consumed tokens", "tokens"),
        ("loss", None),
    ],
)
def test_unit_only_where_the_name_states_it(metric: str, unit: str | None) -> None:
    assert unit_of(metric, role_of(metric)) == unit


def test_a_declared_unit_stays() -> None:
    declared = {"dt_ms": Series("dt_ms", Role.OTHER, np.arange(1), np.ones(1), np.ones(1), unit="us")}
    assert assign(declared)["dt_ms"].unit == "us"
