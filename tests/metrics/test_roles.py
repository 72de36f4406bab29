"""Names of metrics as real logs spell them, and the role that chronicle gives them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from chronicle.errors import UsageError
from chronicle.metrics import names as by_name
from chronicle.metrics.aliases import ALIASES
from chronicle.metrics.by_values import by_values
from chronicle.metrics.names import _role_of_numbered, dataset_of, plain, role_of, unit_of
from chronicle.metrics.roles import assign, assign_all, by_names, direction, judged, judged_loss
from chronicle.model import Attempt, Floats, Role, Series

NAMES = {
    Role.LOSS: """loss, train_loss, train/loss, train loss, train_loss_step, train_loss_epoch, lm loss,
        lm_loss, lm loss value, lm loss vs tokens, lm-loss-training/lm loss, lm-loss-training/lm loss vs
        samples, reduced_train_loss, batchloss, total_loss, trl, train, average_loss, step_loss,
        per_token_loss, per_token_loss.all, per_token_loss.average, train/per_token_loss/all,
        Loss/train, trainLoss, cross_entropy, bits_per_byte, epoch_loss, ema_loss, trn_loss, trnLoss,
        trainloss, tr_loss, loss_tr, tloss, TrainLoss, Training Loss, Trn Loss, Train_Loss, Epoch_loss,
        loss0, Loss 1, losses, train_losses, avg_train_loss, loss (train), nll, train_nll, nll_loss,
        lossvalue,
        crossentropy, cross-entropy, train_xent, bpd, bits_per_dim, objective, train_objective,
        neg_elbo, nelbo, train_loss_ema, loss value, ppl, perplexity, train_ppl, Cost, Training Phase Loss,
        train_cost, mse, train_mse, mae, rmse, RMSE, bce, train_bce, ce, deviance, pinball, train_pinball,
        crps, train_err, mean_absolute_error, train error, training's l2, MultiClass, learn/MultiClass,
        learn/QueryRMSE, learn/Tweedie:variance_power=1.5, training's huber, train-merror, Train-SmoothL1,
        train-poisson-nloglik, learn, CE+Dice, Train MSE+L1,
        perte, Verlust, perdida, perda, 损失, 손실""",
    Role.DATASET_LOSS: """per_token_loss.cm4, per_token_loss.cm4.v2, per_token_loss.pmd,
        train/per_token_loss/code, loss/dataset_x, train_loss_source_web, loss_python, wiki/loss""",
    Role.VALIDATION_LOSS: """val_loss, validation/loss, val/loss, eval_loss, test/loss, test_loss, tel,
        val, final_eval_loss, validation/ctc_loss, Loss/test, valLoss, val_bpb, validation/epoch_loss,
        val/box_loss, ValLoss, valloss, Validation Loss, Valid Loss, Val_Loss, vloss_val, lossVal, loss
        (val), loss_val, Loss/valid, loss_te, te_loss, va_loss, ts_loss, cv_loss, tst_loss, Dev Loss,
        dev_loss, devloss, holdout_loss, held-out loss, hold_out_loss, val_nll, val_objective, val_bpd,
        valid_0's binary_logloss, validation_0-logloss, val_ppl, eval_perplexity, val_mse, val_bce,
        val_ce, val_pinball, test_error, val_err, val_cost, validation loss (avg), Validate Loss, Vali Loss,
        test/MultiClassOneVsAll, test/PairLogit, valid_0's multi_error, eval-gamma-deviance,
        test/Quantile:alpha=0.5, evaluating loss, testing_loss,
        Validation Phase Loss, Val MSE+L1, client_0_test_mae, 验证损失, Validierungsverlust""",
    Role.GRAD_NORM: "grad_norm, grad-norm, grad norm, gnorm, norm, train/grad_norm, hidden_gradient_norm",
    Role.LEARNING_RATE: """lr, learning_rate, train/learning_rate, lr/pg0, lr-AdamW, current_lr, metadata.lr,
        learning_rates, lrs, linear-schedule/pg1""",
    Role.THROUGHPUT: """throughput, throughput_tokens, tokens_per_sec, tok/sec, tokens/sec, tokens /
        sec, samples per second, CurrSamplesPerSec, wps, train_samples_per_second, TFLOPs, It/sec,
        iter/sec, TFLOPs per gpu (estimated), throughput per GPU (TFLOP/s/GPU), mfu, charts/SPS""",
    Role.STEP_TIME: """elapsed time per iteration (ms), elapsed time per iteration (s), iteration-time,
        train_step_time, train_step_timing, step_avg, dt, dt_ms, time, ms/batch, sec_per_step,
        time_this_iter_s, time/iter""",
    Role.LOSS_SCALE: "loss scale, loss_scale, Attempted loss scale, dynamic loss scale, grad_scale",
    Role.RATIO: "image_to_text_ratio.all, data/share/code, mixture_weight/web",
    Role.ATTENTION_LOGIT: "max_attention_logit, attn/max_logits, attn_logits_max, qk_max",
    Role.OUTPUT_LOGIT: "z_loss, log Z, logsumexp, logits_mean, logits/max, max_logit",
    Role.POLICY_ENTROPY: """entropy, policy/entropy, actor/entropy, policy/entropy_avg, objective/entropy,
        losses/entropy, Policy/Entropy, Entropy, train/entropy""",
    Role.ANSWER_LENGTH: """completions/mean_length, completion_length, response_length, response_length/mean,
        train/completion_length""",
    Role.POLICY_KL: "objective/kl, kl_ref, ref_kl, policy/kl_to_start, actor/ref_kl",
    Role.CLIPPED_SHARE: "grad_clip_fraction, train/grad_clip_frac, gradients/clip_rate, clip",
    Role.EXPERT_LOAD: """moe/expert_3/load, tokens_per_expert/expert_3, train/load imbalance,
        moe_expert_utilization/layer_2_expert_7, e_max_violation:mean, MaxVio, moe/expert_utilization_max""",
    Role.UPDATE_NORM: "update_norm, optim/update_rms",
    Role.TOKENS: "consumed tokens, tokens_seen, train/tokens_seen, num_input_tokens_seen, num_tokens",
    Role.SAMPLES: "consumed samples, samples_count, samples_seen",
    Role.BATCH_SIZE: "global batch size, batch_size, bsz",
    Role.EPOCH: "epoch, train/epoch, Epoch",
    Role.SCORE: """accuracy, train/accuracy, train_acc, train/wer, metrics/mAP50(B), episode_reward_max, acc0,
        acc1, trnacc, r2, R2, hits@1, HR@10, precisão, précision, sdr_mean, dice_coefficient, train_psnr,
        fscore, f_score, f1score, jaccard, is_success, bbox/AP50, exact_match, Rank-1, CMC Rank-5,
        准确率, Correct, % correct, percent_correct, FB1, F-measure, resolved, is_solved""",
    Role.VALIDATION_SCORE: """val_accuracy, eval/bleu, test_acc, val_f1score, val_AP, val_kappa, val_eer,
        VAcc, v_acc, validation/Rank-1, test/Rank-10, test_scores, sed_scores_eval, Self-play/ELO,
        elo_history, player1_elo""",
    Role.PART_LOSS: """loss_cls, loss_box_reg, loss_rpn_box_reg, train/box_loss, train/cls_loss,
        train/dfl_loss, mtp_1 loss, load_balancing_loss, seq_load_balancing_loss, moe_gate_loss,
        cri_loss, loss_temporal_512, kl_loss, critic_loss, d_loss, G_loss, Gen Loss, Disc Loss,
        policy_loss, lossD, loss_G, idt_loss, gen/adv_loss, value_loss, vf_loss, entropy_loss, mse_loss,
        bce_loss, recon_loss, aux_loss, loss_pde, loss_bc, loss_q0, loss_q3, loss_vb, td_loss, act_loss,
        actor_loss, reward_loss, loss/reward, criticloss""",
    Role.OBJECTIVE: """reward, rewards, ep_rew_mean, eprewmean, rollout/ep_rew_mean, EpRet,
        episode_reward_mean,
        charts/episodic_return, env_runners/episode_return_mean, AverageEpRet, Train/mean_reward,
        objective/rlhf_reward, objective/scores, average reward score, total_reward, episode reward,
        avgreward""",
    Role.OTHER: """config/peak_lr, logit_scale, config/batch_size, timing_s/reward, time/reward_fn,
    reward_time, reward_std, rollout/return_std, peak_flops, global_batch_idx,
        num_env_steps_sampled_per_second,
        rollout/tokens_per_second, num-zeros, params norm, validation/num_examples, number of skipped
        iterations, eval_runtime, eval_samples_per_second, eta_seconds, data_time, preemption_count,
        completions/max_length, completions/clipped_ratio, prompt_length/mean, rollout/ep_len_mean,
        moe/dead_expert_frac, gpu/utilization_max, experts_per_token,
        target_entropy, router/entropy, entropy_coef, eval/entropy, relative_entropy,
        score, total_duration, total_flos, mem-allocated-bytes, lossless, clip_ratio,
        <script>alert(1)</script>, train_1, val_1, valid, dev, test, holdout, total, err, error, kl,
        G_GAN, D_real, errG, cycle_A, best_loss, opponent_elo, elo_diff, elo/old,
        best_val_loss, min_val_loss, loss_std, train_loss_std, val_loss_std, loss_weight, hyperdata,
        remaining""",
}
CASES = [(name, role) for role, names in NAMES.items() for name in " ".join(names.split()).split(", ")]


def log(*names: str, values: Sequence[float] = (3.0, 2.0, 1.0)) -> dict[str, Series]:
    """Series of these names, all with the same values."""
    steps, times = np.arange(len(values)), np.full(len(values), np.nan)
    return {n: Series(n, Role.OTHER, steps, np.array(values), times) for n in names}


def roles(series: dict[str, Series], *overrides: tuple[str, Role]) -> dict[str, str]:
    """Role by name, with the data set where there is one."""
    return {n: " ".join([s.role, s.dataset]).strip() for n, s in assign(series, overrides).items()}


def test_a_name_has_its_role() -> None:
    assert [(name, role_of(name)) for name, _ in CASES] == CASES


def test_every_role_has_names_here_and_in_the_table() -> None:
    assert set(NAMES) == set(Role)
    assert {alias.role for alias in ALIASES} == set(Role) - {Role.PART_LOSS}  # told by words: COMPONENTS


def test_the_names_a_row_quotes_have_its_role() -> None:
    quoted = [(name, alias.role) for alias in ALIASES for name in alias.seen.split(", ")]
    assert [(name, role_of(name)) for name, _ in quoted] == quoted


@pytest.mark.parametrize("number", ["1", "7", "50", "2048"])
def test_the_number_of_a_layer_tells_no_role(number: str) -> None:
    """What is remembered of a name with another number is what the table says of this one."""
    seen = [name for name, _ in CASES]
    for name in {re.sub(r"\d+", number, n) for n in seen} | {
        f"{n}{between}{number}" for n in seen for between in ("/", "")
    }:
        role_of(re.sub(rf"\b{number}\b", "0", name))
        assert role_of(name) is _role_of_numbered.__wrapped__(plain(name)), name


@pytest.mark.parametrize("piece", ["x", "loss ", "val ", "reward "])
def test_a_name_that_nobody_would_give_costs_no_square_of_its_length(piece: str) -> None:
    """So long that as many steps as its square would not come to an end."""
    assert role_of(piece * 100_000) is Role.OTHER


@pytest.mark.parametrize(
    "metrics",
    [
        (),
        ("loss", "layer_12/norm", "layer_3/norm", "val_loss_2024", "١٢ loss"),
        ("two\nlines 10", "loss 10", ""),
        ("loss" + "1" * 1000, "loss 1"),
    ],
    ids=["no name", "numbers", "a line end", "a long name"],
)
def test_names_that_are_asked_together_say_what_each_says_alone(metrics: tuple[str, ...]) -> None:
    alone = {name: by_name.without_numbers(name) for name in metrics}
    assert by_name.without_their_numbers(metrics) == alone
    assert by_name.roles_of(metrics) == {name: role_of(name) for name in metrics}


def test_spelling_does_not_matter() -> None:
    assert (
        plain("train/gradNorm") == plain("Train grad-norm") == plain("train__GRAD.norm") == "train grad norm"
    )
    assert role_of("TRAIN.LOSS") is role_of("Train Loss") is role_of("trainLoss") is Role.LOSS


def test_a_name_has_its_role_however_it_is_spelled() -> None:
    for name in (n for n, _ in CASES if re.fullmatch("[a-z]+(_[a-z]+)*", n)):
        words = name.split("_")
        spellings = {mark.join(words) for mark in " -./"} | {name.upper(), name.title()}
        spellings |= {" ".join(words).title(), words[0] + "".join(map(str.capitalize, words[1:]))}
        expected = dict.fromkeys(spellings, role_of(name))
        assert {spelled: role_of(spelled) for spelled in spellings} == expected


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


def test_losses_that_are_all_there_is_are_no_data_sets() -> None:
    assert roles(log("train_rep_losses", "train_beta_losses")) == {
        "train_rep_losses": "loss",
        "train_beta_losses": "part-loss",
    }
    assert roles(log("Encoder Loss", "Decoder Loss")) == {"Encoder Loss": "loss", "Decoder Loss": "part-loss"}


def test_the_mean_is_the_loss_and_an_extreme_is_a_part() -> None:
    """As TorchTitan names them."""
    assert roles(log("loss_metrics/global_avg_loss", "loss_metrics/global_max_loss")) == {
        "loss_metrics/global_avg_loss": "loss",
        "loss_metrics/global_max_loss": "part-loss",
    }
    assert roles(log("train_loss", "worst_train_loss"))["worst_train_loss"] == "part-loss"


def test_a_bare_loss_beside_one_of_the_training_is_the_held_out_one() -> None:
    held_out = log("loss", values=(4.0, 3.0, 2.5))
    assert roles(log("train_loss") | held_out)["loss"] == "validation-loss"
    assert roles(log("train_loss", "val_loss") | held_out)["loss"] == "loss"
    assert roles(log("train_loss", "loss"))["loss"] == "loss"  # the same numbers under another name
    ends = held_out["loss"]
    of_batches = replace(ends, steps=np.arange(9), values=np.arange(9.0), times=np.arange(9.0))
    assert roles(log("train_loss") | {"loss": of_batches})["loss"] == "loss"


def test_the_first_of_the_sets_that_xgboost_numbers_is_the_training_s_where_it_is_fitted_far_better() -> None:
    lower, higher = log("validation_0-logloss", values=(3.0, 1.0, 0.2)), log("validation_1-logloss")
    of_scores = log("validation_0-auc", "validation_1-auc")
    assert roles({**lower, **higher, **of_scores}) == {
        "validation_0-logloss": "loss", "validation_1-logloss": "validation-loss",
        "validation_0-auc": "score", "validation_1-auc": "validation-score",
    }  # fmt: skip
    alike = log("validation_0/logloss", "validation_1/logloss")
    alone, beside = log("validation_0-logloss", "epoch"), {**lower, **higher, **log("train-logloss")}
    for series in (alike, alone, beside):
        assert roles(series)[next(iter(series))] == "validation-loss"


def test_a_bare_loss_that_tells_both_others_in_turn_is_neither() -> None:
    """As ACT prints it: `Train loss: 0.49652`, `loss: 0.497`, `Val loss: 0.46381`, `loss: 0.464`."""
    steps, nan = np.arange(20), np.full(20, np.nan)
    ours, theirs = np.exp(-steps / 10), 0.2 + np.exp(-steps / 12)
    both = np.round(np.stack([ours, theirs], axis=1).ravel(), 3)
    series = {
        "Train loss": Series("Train loss", Role.OTHER, steps, ours, nan),
        "Val loss": Series("Val loss", Role.OTHER, steps, theirs, nan),
        "loss": Series("loss", Role.OTHER, np.repeat(steps, 2), both, np.full(40, np.nan)),
    }
    assert roles(series) == {"Train loss": "loss", "Val loss": "validation-loss", "loss": "other"}
    assert by_values(series)["loss"].why == "repeats Train loss and Val loss"
    series["loss"] = replace(series["loss"], values=both + 0.01)
    assert roles(series)["loss"] == "loss"


def test_what_only_steers_a_model_stands_for_its_loss_last_of_all() -> None:
    agent = roles(log("train/entropy_loss", "train/policy_loss", "train/value_loss"))
    experts = roles(log("Average_LB_Loss", "Average_CE_Loss", "router_loss"))
    assert [name for name, role in (agent | experts).items() if role == "loss"] == [
        "train/policy_loss",
        "Average_CE_Loss",
    ]


@pytest.mark.parametrize("name", ["train/policy_gradient_loss", "train/entropy_loss", "value_loss"])
def test_one_part_of_what_an_agent_is_trained_with_is_judged_by_nobody(name: str) -> None:
    assert roles(log(name)) == {name: "part-loss"}
    assert roles(log("policy_loss", "value_loss"))["policy_loss"] == "loss"


@pytest.mark.parametrize("name", ["g_losses", "d_losses", "Disc Loss", "critic_loss", "DDPG_actor_loss"])
def test_the_loss_of_one_of_two_players_alone_says_nothing(name: str) -> None:
    assert roles(log(name)) == {name: "part-loss"}
    assert roles(log("g_losses", "d_losses")) == {"g_losses": "loss", "d_losses": "part-loss"}
    assert roles(log("td_loss")) == {"td_loss": "loss"}


def test_a_loss_that_tells_again_what_a_validation_does_is_of_it() -> None:
    """Keras calls the loss of each folder `epoch_loss`; beside it stands the same under its own name."""
    values = tuple(1 / (n + 1) for n in range(12))
    twice = log("epoch_loss", "evaluation_loss_vs_iterations", values=values)
    assert set(roles(twice).values()) == {"validation-loss"}
    of_training = log("train_loss", "val_loss", values=values)  # without data that were held out
    assert roles(of_training) == {"train_loss": "loss", "val_loss": "validation-loss"}
    twice["epoch_loss"] = replace(twice["epoch_loss"], values=twice["epoch_loss"].values + 0.01)
    assert roles(twice)["epoch_loss"] == "loss"


def test_tokens_of_each_answer_do_not_count_those_of_the_training() -> None:
    """The highest of them was told as the number of tokens that a run had read."""
    counts = np.random.default_rng(0).integers(300, 500, 100).astype(float)
    counted = log("val/num_eos_tokens", values=counts) | log("num_tokens", values=np.cumsum(counts))
    assert roles(counted) == {"val/num_eos_tokens": "other", "num_tokens": "tokens"}


def test_a_total_of_what_is_held_out_may_be_the_number_of_its_samples() -> None:
    counted = log("val_total", values=(256.0,) * 12) | log("loss", values=(0.5,) * 12)
    assert roles(counted)["val_total"] == "other"


def test_an_objective_that_is_told_for_a_while_alone_is_none() -> None:
    def rewards(episodes: range) -> dict[str, str]:
        steps, times = np.arange(100), np.full(100, np.nan)
        every = Series("Reward", Role.OTHER, steps, np.linspace(0, 1, 100), times)
        some = np.array(episodes)
        return roles({"Reward": every, "return": Series("return", Role.OTHER, some, some / 100, times[some])})

    assert rewards(range(50, 80, 2)) == {"Reward": "objective", "return": "score"}
    assert rewards(range(0, 100, 10)) == {"Reward": "score", "return": "objective"}
    assert rewards(range(0, 100, 30)) == {"Reward": "objective", "return": "score"}  # four times


def test_a_reward_that_is_the_same_in_all_rows_is_not_judged_beside_what_the_episode_came_to() -> None:
    def judged(of_row: Floats, so_far: Floats) -> list[str]:
        given = roles(table(Reward=of_row, Reward_so_far=so_far))
        return [name for name, role in given.items() if role == "objective"]

    same, moves = np.full(100, -10.0), np.arange(100) % 7 - 10.0
    assert judged(same, moves) == ["Reward_so_far"]
    assert judged(moves, same) == judged(same, same) == judged(moves, moves) == ["Reward"]


def test_the_total_reward_of_a_batch_is_judged_before_that_of_an_answer_shown_now_and_then() -> None:
    of_batch = log("total_reward", "total_format_reward", "entropy", values=np.arange(200.0))
    of_answer = log("reward", "format_reward", values=np.arange(20.0) % 2)
    best = judged(assign(of_batch | of_answer).values())
    assert best is not None and (best.metric, best.role) == ("total_reward", Role.OBJECTIVE)


def test_what_is_called_t_is_the_loss_where_it_is_the_sum_of_a_loss_and_others() -> None:
    of_loss, other = np.random.default_rng(1).random((2, 60))

    def logged(**values: np.ndarray) -> dict[str, str]:
        return roles({n: log(n, values=v)[n] for n, v in (("loss a", of_loss), *values.items())})

    assert logged(b=other, t=of_loss + other) == {"loss a": "part-loss", "b": "part-loss", "t": "loss"}
    assert logged(b=other, t=of_loss * other) == {"loss a": "loss", "b": "other", "t": "other"}
    assert logged(b=other, c=of_loss**2, t=other + of_loss**2) == {
        "loss a": "loss",
        "b": "other",
        "c": "other",
        "t": "other",
    }


@pytest.mark.parametrize(("lowest", "role"), [(0.1, "loss"), (1.0, "objective")])
def test_a_bare_score_that_is_told_only_where_it_is_lower_is_made_small(lowest: float, role: str) -> None:
    values = np.array([9.0, 7.0, 6.5, 4.0, 8.5, 7.0, 5.0, 3.0, 2.0, 1.5, lowest * 4])
    steps = np.array([0, 1, 5, 9, 0, 2, 3, 7, 8, 20, 30])
    score = Series("score", Role.OTHER, steps, values, np.full(len(steps), np.nan))
    assert roles({"score": score}) == {"score": role}


@pytest.mark.parametrize(
    ("first", "last", "role"),
    [(0.2, 0.9, "score"), (20, 90, "score"), (200, 900, "other"), (0.9, 0.2, "loss")],
)
def test_what_rises_as_the_loss_falls_is_a_score(first: float, last: float, role: str) -> None:
    """`Epoch: 001, Loss: 1.94, Train: 0.20, Val: 0.18, Test: 0.19`"""
    trained = np.linspace(first, last, 12)
    loss = np.linspace(0.95, 0.25, 12)
    columns = {"Loss": loss, "Train": trained, "Val": trained / 1.5, "Test": trained / 1.5}
    steps = np.arange(12)
    series = {n: Series(n, Role.OTHER, steps, v, np.full(12, np.nan)) for n, v in columns.items()}
    held_out = {"score": "validation-score", "loss": "validation-loss"}.get(role, "other")
    assert roles(series) == {"Loss": "loss", "Train": role, "Val": held_out, "Test": held_out}


def test_the_error_of_what_is_steered_is_no_loss() -> None:
    assert roles(log("angle", "error", values=(0.4, -0.3, 0.1))) == {"angle": "other", "error": "other"}
    assert roles(log("angle", "error"))["error"] == "loss"


def test_the_first_part_is_that_of_those_logged_most() -> None:
    parts = log("box_loss", "cls_loss")
    parts["box_loss"] = replace(parts["box_loss"], steps=np.arange(1), values=np.ones(1), times=np.ones(1))
    assert roles(parts) == {"box_loss": "part-loss", "cls_loss": "loss"}


# Names as they stand side by side in tables, with the role that each has there.
TOGETHER = """
loss0: loss, loss1: loss, acc0: score, acc1: score
ce_reward_loss: loss, reward_rate: score, reward_precision: score, reward_f1: score
ctf_rewards1: objective, loss: part-loss
reward2: objective, loss: part-loss
loss: loss, loss_foo: dataset-loss foo, loss_bar: dataset-loss bar
train_loss_wiki: dataset-loss wiki, train_loss_foo: dataset-loss foo
loss_total: loss, loss_source: part-loss, loss_domain_avg: part-loss, loss_distill: part-loss
G_loss: loss, D_loss: part-loss, domain_classifier_loss: part-loss, training_mF1: score
loss: loss, loss_source: dataset-loss source, loss_target_web: dataset-loss target_web
train_loss: loss, data_loss: part-loss, physics_loss: part-loss
tr_loss_total: loss, tr_loss_phys: part-loss, vl_loss_total: validation-loss, vl_loss_phys: part-loss
data_loss: loss, phys_loss: part-loss, val_data: validation-loss, val_phys: part-loss, val_time: other
loss: loss, L_recon: part-loss, L_acyclic: part-loss, rmse: other
reward: objective, reward_version: other
run_rewards_approx_kl: other, run_rewards_clip_fraction: other, run_rewards_ep_rew_mean: objective
run_rewards_ep_len_mean: other, run_rewards_n_updates: other, run_rewards_explained_variance: other
train_pinball: loss, val_pinball: validation-loss, seconds: step-time
perplexity-train: loss, f1-perplexity-train: other, perplexity-val: validation-loss
loss_history/total: loss, loss_history/bc: part-loss, loss_history/pde: part-loss
total_loss: loss, loss_cls: part-loss, loss_box_reg: part-loss, loss_novel: part-loss, loss_new: part-loss
my_loss: loss, lr: learning-rate
loss: loss, my_loss: part-loss
train/box_loss: loss, train/cls_loss: part-loss, val/box_loss: validation-loss, lr/pg0: learning-rate
grad_norm: grad-norm, grad_norm/layers.0.weight: other
loss: loss, grad: grad-norm, lr: learning-rate
loss: loss, Grad: other, grad_norm: grad-norm
critic_loss: part-loss, gen_loss: loss
critic_loss: part-loss, lr: learning-rate
Gen Loss: loss, Disc Loss: part-loss
d_loss: part-loss, g_loss: loss
loss: loss, d_loss: part-loss, g_loss: part-loss
policy_loss: loss, value_loss: part-loss, entropy_loss: part-loss
train/loss: part-loss, policy_gradient_loss: part-loss, value_loss: part-loss, train/clip_fraction: other
Loss: part-loss, Cost: loss, Advantage: other
Loss: loss, Cost: other, Distance: other
actor_loss: loss, critic_loss: part-loss, alpha_loss: part-loss
loss_disc: part-loss, loss_gen: part-loss, loss_kl: part-loss, loss_mel: loss
loss_disc: part-loss, loss_gen: part-loss, loss_mel: part-loss, loss_1: loss
kl_loss: part-loss, recon_loss: loss
Total Loss: loss, Reconstruction Loss: part-loss, KL Divergence: part-loss
loss: loss, recon_loss: part-loss, kld: part-loss, approx_kl: other
loss: loss, distill_loss: part-loss, kl_div: other
latent_loss: part-loss, mse_loss: loss, recon_loss: part-loss
Cls Loss: part-loss, Loc Loss: part-loss, Tot Loss: loss
loss: loss, loss_wave: part-loss, loss_mag: part-loss
score: other, loss: loss, loss_rl: part-loss, loss_diffusion: part-loss
loss_diffusion: loss
box_loss: loss, cls_loss: part-loss
G_loss: part-loss, D_loss: part-loss, cycle_loss: loss, identity_loss: part-loss
loss_G: loss, loss_D: part-loss
lossD: part-loss, lossG: loss
d_loss_real: part-loss, d_loss_fake: part-loss, dloss: part-loss, gloss: loss
time: step-time, data: other, G_GAN: part-loss, G_L1: loss, D_real: part-loss, D_fake: part-loss
D_A: part-loss, G_A: part-loss, cycle_A: loss, idt_A: part-loss, D_B: part-loss, cycle_B: part-loss
G_GAN: part-loss, G_GAN_Feat: loss, G_VGG: part-loss, D_real: part-loss, D_fake: part-loss
KLD: other, GAN: part-loss, GAN_Feat: loss, VGG: part-loss, D_Fake: part-loss, D_real: part-loss
errD: part-loss, errG: loss, D_x: part-loss
loss: loss, G_GAN: part-loss, G_L1: part-loss, D_real: part-loss
G_GAN: other, G_L1: other, val_loss: validation-loss
D: part-loss, G: loss, lr: learning-rate
A: other, B: other, D: other, G: other
G_GAN: other, G_L1: other, lr: learning-rate
gan_7/D_error: part-loss, gan_7/G_error: loss
gan_7/D_error: other, speed/G_error: other
loss_gen: loss, loss_dis: part-loss
recon: loss, perc: part-loss, data: other
rec: other, mask: other
D_real: other, D_fake: other
Loss: loss, Train: other, Val: other, Test: other
Loss: loss, Val: validation-loss
Train Loss: loss, Vali Loss: validation-loss, Test Loss: validation-loss
tloss: loss, vloss: validation-loss
t_loss: loss, v_loss: validation-loss, acc: score
v_loss: loss, lr: learning-rate
loss: loss, v_loss: part-loss
train: loss, valid: validation-loss, total: other
train_total: loss, val_total: validation-loss, val_nll: validation-loss, val_physics: other
total: loss, val_total: validation-loss, val_nll: validation-loss
train_total: other, val_nll: validation-loss
loss: loss, phys: other, val_total: validation-loss, val_tip: other
loss: loss, val_total: other, val_loss: validation-loss
Train: loss, Val: validation-loss, MAE: other
timer: step-time, Loss: loss
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
elbo: loss, kl_loss: part-loss
loss: loss, best_loss: other, loss_std: other, best_val_loss: other
train_loss: loss, train_loss_std: other, val_loss: validation-loss
Averaged Test AUC: validation-score, Std Test AUC: other, Averaged Test Accurancy: validation-score
acc: score, acc_std: other, std_acc: other, std_f1: score
std_acc: score, adv_acc: score
Training Loss: loss, Validation Loss: validation-loss
训练损失: loss, 验证损失: validation-loss, 准确率: score
Trainingsverlust: loss, Validierungsverlust: validation-loss, Genauigkeit: score
perte: loss, perte_validation: validation-loss, exactitude: score
coste: loss, Lernrate: learning-rate
pérdida: loss, pérdida_validación: validation-loss
hyperdata: other, expertes: other
step_loss: loss, epoch_loss: loss
rollout/ep_rew_mean: objective, rollout/ep_len_mean: other, train/loss: part-loss, train/value_loss: part-loss
train/policy_gradient_loss: part-loss, train/entropy_loss: policy-entropy, rollout/ep_rew_mean: objective
episode_reward_max: score, episode_reward_mean: objective, learner/policy_loss: part-loss
reward: objective, rewards/format: score, loss: part-loss, reward_std: other
loss: loss, rewards/chosen: score, rewards/rejected: score, rewards/margins: score
loss: loss, mean_reward: score, margin: other
reward: objective, average reward: objective, 100-episode running mean reward: score
Mean reward: objective, Mean episode rew_tracking_lin_vel: score, Value function loss: part-loss
score: objective, actor_loss: part-loss, critic_loss: part-loss
critic/rewards/mean: objective, critic/returns/mean: other, critic/advantages/mean: other, pg_loss: part-loss
train/success_rate: score, test/success_rate: validation-score
train/loss: part-loss, policy_gradient_loss: part-loss, value_loss: part-loss, eval/mean_reward: objective
Loss: part-loss, Rewards Avg: objective, Advantages Avg: other, Returns Avg: other
duration loss: part-loss, prior loss: part-loss, diffusion loss: loss
score: objective, epsilon: other
LOSS TOK2VEC: loss, LOSS NER: part-loss, ENTS_F: score, SCORE: other
loss: loss, eval/mean_reward: validation-score
pg_loss: part-loss, v_loss: part-loss, eval_reward: objective
v_loss: validation-loss, t_loss: loss, eval_reward: validation-score
Cost: loss, valid/cross-entropy: validation-loss
train_loss: loss, loss/reward: part-loss, reward_loss: part-loss
learn: loss, test: validation-loss
learn/RMSE: loss, test/RMSE: validation-loss
time_this_iter_s: step-time, num_env_steps_sampled_per_second: other, loss: loss
loss: loss, loss_q0: part-loss, loss_q1: part-loss, loss_q2: part-loss, loss_q3: part-loss
loss: loss, loss_pde: part-loss, loss_bc: part-loss, loss_data: part-loss
train/CE loss: loss, train/PPL: other, throughput/total tokens: tokens, throughput/device/TPS: throughput
g_losses: loss, d_losses: part-loss, mse: other
train_ppl: loss, moe_aux_loss: part-loss
train: other, train_loss: loss
Rec: part-loss, KL: part-loss, Total: loss
train_total: loss, train_rec: part-loss, train_kl: part-loss, val_total: validation-loss, val_rec: part-loss
train_total: other, train_correct: other
Recon: loss, KL: part-loss, Phys: part-loss
KL: other, Phys: other
currentLR: learning-rate, Loss: loss
total: other, count: other
Tot: loss
Total: loss, Validation accuracy: validation-score, learning rate: learning-rate
loss: loss, Total: other, KL: other
mae: other, rmse: loss, val_mae: other, val_rmse: validation-loss
train_mae: loss, val_rmse: other
rmse: loss, val_rmse: other, val_loss: validation-loss
rmse: other, val_loss: validation-loss
train_metrics/mse: loss, eval_metrics/mse: validation-loss, eval_metrics/prediction_std: other
avg_abs_error: other, avg_sq_error: loss, validation_sq_error: validation-loss
custom_metrics/energy_cost_mean: loss
Iteration: other, Best Cost: loss
best_cost: other, accuracy: score
best_cost: other, reward: objective
time_cost: other, data_cost: other
tr_ls: loss, vl_ls: validation-loss
FID: score, IS: score, R^2: score
train_mse_scaled: loss, val_mae: other
log_likelihood: score, neg_log_likelihood: loss
arena_win_rate: score, total_loss: loss, policy_loss: part-loss
win_rate: objective, loss: part-loss
return_mean: objective, battle_won_mean: score, test_battle_won_mean: validation-score, loss: part-loss
episode.rwd: objective, episode.loss: part-loss
Loss: loss, MeanIU: score
fitness: objective, best_fitness: score, worst fitness: score
Population's average fitness: objective, Best fitness: score, Average adjusted fitness: score
Ep_r: objective, a_loss: part-loss
episode: other, R: objective
cost_history: loss, accuracy_history: score
meta_train_losses: loss, meta_val_accs: validation-score
clients/0/loss: dataset-loss clients/0, clients/1/loss: dataset-loss clients/1, aggregated/loss: loss
1.Total_reward/1.Total_reward: objective, 1.Total_reward/3.Episode_length: other
train/returns_stat/mean: objective, test/returns_stat/mean: validation-score
l_mos: loss, l_metric: loss, lr: learning-rate
loss: part-loss, reward signal mean: score, mean 100 episode reward: objective
avg loss so far: loss, val loss: validation-loss
G: loss, G_content: part-loss, G_style: part-loss, D_real: part-loss, D_fake: part-loss
loss_D_real: part-loss, loss_D_fake: part-loss, loss_G: loss, loss_G_GAN: part-loss, loss_G_L1: part-loss
box_loss: loss, x/lr0: learning-rate, x/lr2: learning-rate
eps: other, r: objective, r_ma: other
r: objective, ploss: part-loss, vloss: part-loss, ent: other
r: other, p: other
exploitability: loss, t: other
avg(utility): objective, avg(num_wins): other
loss_scaled: part-loss, loss_tgt_mean: loss, vicreg_loss: part-loss
train: loss, heldout: validation-loss, lr: learning-rate
train: loss, held-out: validation-loss
MLPPolicy/Loss: part-loss, Evaluation/MaxReturn: validation-score, Evaluation/AverageReturn: objective
Score: objective, Market Return: score, Portfolio Return: score
Loss: part-loss, Epsilon: other, WinRandom: objective
total_loss: loss, policy_loss: part-loss, value_loss: part-loss, vs_random_win_rate: score
total_loss: part-loss, policy_loss: part-loss, value_loss: part-loss, approx_kl: other, win_rate: objective
v_loss: validation-loss, loss: loss, v_kl: other, kl: other
gpu_mem: other, box: loss, obj: part-loss, cls: part-loss, img_size: other
box: other, lr: learning-rate
Environment/Cumulative Reward: objective, Policy/Extrinsic Reward: score
critic/score/mean: objective, critic/rewards/mean: score, pg_loss: part-loss
Likelihood: score, G-LL: other
reward: objective, return: score, response_length: answer-length, policy_loss: part-loss, kl: policy-kl
reward: score, return: objective, policy_loss: part-loss
objective/scores: objective, objective/rlhf_reward: score, val/ratio: other, loss/value_avg: part-loss
rollout/raw_reward: objective, rollout/rewards: score, train/loss: part-loss
loss: loss, image_to_text_ratio.all: ratio
wins: other, losses: other, avg_reward: objective, win_rate: score, loss_rate: other
loss: loss, lm_loss: loss, router_z_loss: part-loss, z_loss: output-logit
iter: other, batch_cost: step-time, reader_cost: other, ips: throughput
timing_s/step: step-time, timing_s/gen: other
Negative Likelihood: loss, lr: learning-rate
"""


def test_names_side_by_side() -> None:
    logs = [
        dict(pair.rsplit(": ", 1) for pair in names_and_roles.split(", "))
        for names_and_roles in TOGETHER.strip().splitlines()
    ]
    assert [roles(log(*names)) for names in logs] == logs


def test_time_that_only_grows_is_no_step_time() -> None:
    for name in ("time", "seconds"):
        assert roles(log(name, values=(1.0, 2.0, 3.0))) == {name: "other"}
        assert roles(log(name, values=(0.4, 0.5, 0.4))) == {name: "step-time"}


def test_seconds_since_the_start_of_each_epoch_are_no_step_time() -> None:
    since_epoch = (0.5, 1.0, 1.5, 2.0) * 3
    compiled_first = (20.0, *(0.5,) * 11)
    jittering = (0.5, 0.6, 0.2, 0.7, 0.4, 0.8) * 2
    for name in ("time (sec)", "iter_time"):
        assert roles(log(name, values=since_epoch)) == {name: "other"}
        assert roles(log(name, values=compiled_first)) == {name: "step-time"}
        assert roles(log(name, values=jittering)) == {name: "step-time"}


def test_an_override_wins_and_the_first_of_two() -> None:
    series = log("loss", "odd", "odd/cm4")
    overrides = (("odd", Role.GRAD_NORM), ("odd.*", Role.DATASET_LOSS), ("loss", Role.OTHER))
    assert roles(series, *overrides) == {
        "loss": "other",
        "odd": "grad-norm",
        "odd/cm4": "dataset-loss odd/cm4",
    }


def test_an_override_that_is_no_regular_expression_is_named() -> None:
    with pytest.raises(UsageError, match=r"roles: '\(' is not a regular expression"):
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


def table(**columns: object) -> dict[str, Series]:
    """Series of these values, all at the same steps."""
    arrays = {name: np.array(values, float) for name, values in columns.items()}
    return {
        name: Series(name, Role.OTHER, np.arange(len(v)), v, np.full(len(v), np.nan))
        for name, v in arrays.items()
    }


def curves(n: int, *levels: float) -> list[np.ndarray]:
    """Losses that fall to a level each, with noise of their own."""
    random = np.random.default_rng(7)
    return [level + np.exp(-np.arange(n) / 20) + 0.1 * random.random(n) for level in levels]


def test_parts_are_told_by_their_sum_and_data_sets_by_their_mean() -> None:
    foo, bar = curves(60, 1.0, 2.0)
    assert roles(table(loss=foo + 0.1 * bar, loss_foo=foo, loss_bar=bar)) == {
        "loss": "loss",
        "loss_foo": "part-loss",
        "loss_bar": "part-loss",
    }
    assert roles(table(loss=0.7 * foo + 0.3 * bar, loss_foo=foo, loss_bar=bar)) == {
        "loss": "loss",
        "loss_foo": "dataset-loss foo",
        "loss_bar": "dataset-loss bar",
    }


def test_a_bare_total_is_the_loss_where_it_is_the_sum_of_losses() -> None:
    """As a training of several tasks logs it: `total` beside `seg_loss` and `depth_loss`."""
    seg, depth = curves(40, 1.0, 2.0)
    told = roles(table(seg_loss=seg, depth_loss=depth, total=seg + 0.5 * depth))
    assert told == {"seg_loss": "part-loss", "depth_loss": "part-loss", "total": "loss"}
    other = roles(table(seg_loss=seg, depth_loss=depth, total=np.arange(40.0)))
    assert other == {"seg_loss": "loss", "depth_loss": "part-loss", "total": "other"}


def test_a_part_needs_no_name_of_a_loss() -> None:
    series = table(**dict(zip(("smooth", "warp", "aside"), curves(60, 1.0, 2.0, 3.0), strict=True)))
    total = np.round(series["smooth"].values + 2.5 * series["warp"].values, 4)
    series |= table(total_loss=total)
    assert roles(series) == {
        "smooth": "part-loss",
        "warp": "part-loss",
        "aside": "other",
        "total_loss": "loss",
    }
    assert by_values(series)["warp"].why == "total_loss = 1 × smooth + 2.5 × warp"


def test_shares_are_told_by_their_sum() -> None:
    web = np.round(0.5 + 0.3 * np.sin(np.arange(20)), 3)
    series = table(loss=np.arange(20, 0, -1), w_web=web, w_code=0.9 - web, w_rest=[0.1] * 20, w_of=[0.4] * 20)
    assert roles(series) == {
        "loss": "loss",
        "w_web": "other",
        "w_code": "other",
        "w_rest": "other",
        "w_of": "other",
    }
    del series["w_of"]
    assert roles(series) == {"loss": "loss", "w_web": "ratio", "w_code": "ratio", "w_rest": "ratio"}
    assert by_values(series)["w_web"].why == "lies in [0, 1] and sums to one with w_web, w_code, w_rest"


def test_fitness_is_made_small_where_the_best_lies_below_the_mean_and_falls() -> None:
    falls, noise = np.arange(20, 0, -1.0), np.arange(20) % 3
    series = table(best_fitness=falls, avg_fitness=2 * falls + noise)
    assert roles(series) == {"best_fitness": "other", "avg_fitness": "loss"}
    why = "is minimised: best_fitness lies below avg_fitness, and falls"
    assert by_values(series)["avg_fitness"].why == why
    # a best that is told again now and then, and lags below a mean that rises
    assert roles(table(best_reward=-falls, avg_reward=2 - falls))["avg_reward"] == "objective"
    assert roles(table(best_fitness=falls, avg_fitness=falls - 1 + noise))["avg_fitness"] == "objective"
    assert by_values(table(best_fitness=[], avg_fitness=[])) == {}


def test_settings_and_switches_are_no_shares() -> None:
    assert by_values(table(opt_momentum=[0.9] * 20, opt_decay=[0.1] * 20)) == {}
    on = np.arange(20) % 2
    assert by_values(table(is_on=on, is_off=1 - on)) == {}


def test_what_one_log_tells_holds_for_the_others_of_its_run() -> None:
    foo, bar = curves(60, 1.0, 2.0)
    long = table(loss=foo + bar, loss_foo=foo, loss_bar=bar)
    short = {name: series.pick(slice(3)) for name, series in long.items()}
    assert {series.role for series in assign(short).values()} == {Role.LOSS, Role.DATASET_LOSS}
    for attempt in assign_all([Attempt("short", (), short), Attempt("long", (), long)]):
        assert [str(attempt.series[name].role) for name in long] == ["loss", "part-loss", "part-loss"]


def test_a_loss_that_is_measured_again_tells_which_one_is_of_the_validation() -> None:
    """As nanoGPT's loop: `iter 500: loss 2.1` in each step, `iter 500: train 2.2, val 2.4` in some."""
    rng, steps = np.random.default_rng(0), np.arange(0, 2000, 10)
    falling = 2 + 3 * np.exp(-steps / 400)
    loss = Series("loss", Role.OTHER, steps, falling + rng.normal(0, 0.05, 200), np.full(200, np.nan))

    def some(name: str, values: np.ndarray) -> dict[str, Series]:
        return {name: Series(name, Role.OTHER, steps[::20], values[::20], loss.times[::20])}

    measured = {"loss": loss} | some("train", falling * 1.02) | some("val", falling * 1.1)
    assert roles(measured) == {"loss": "loss", "train": "loss", "val": "validation-loss"}
    scored = {"loss": loss} | some("train", 1 / falling) | some("val", 1 / falling)
    assert roles(scored) == {"loss": "loss", "train": "other", "val": "other"}


def test_a_log_of_probabilities_above_zero_is_a_loss() -> None:
    assert roles(log("logprob", "lr", values=(0.6, 0.5, 0.4)))["logprob"] == "loss"
    assert roles(log("logprob", "lr", values=(-0.6, -0.5, -0.4)))["logprob"] == "other"
    assert roles(log("logprob", "loss", values=(0.6, 0.5, 0.4)))["logprob"] == "other"


def test_the_bound_of_a_log_of_probabilities_is_a_loss_where_it_begins_above_zero() -> None:
    """A bound of densities may cross zero: what an untrained model reaches tells if its sign was changed."""
    falls, rises = log("train_elbo", values=(90.0, 4.0, -8.0)), log("train_elbo", values=(-90.0, -4.0, 8.0))
    assert (roles(falls), roles(rises)) == ({"train_elbo": "loss"}, {"train_elbo": "score"})
    held_out = roles(log("elbo", "val_elbo", values=(90.0, 50.0, 40.0)))
    assert held_out == {"elbo": "loss", "val_elbo": "validation-loss"}
    assert roles(log("loss", "elbo", values=(90.0, 50.0, 40.0))) == {"loss": "loss", "elbo": "score"}
    beside = log("elbo", "kl", "rec", values=(-90.0, -50.0, -40.0))
    assert roles(beside) == {"elbo": "score", "kl": "other", "rec": "other"}
    up = assign(rises)["train_elbo"]
    assert judged([up], fewest=3) is up and direction(up) == 1


def test_of_numbered_losses_the_one_that_equals_an_opponents_is_not_judged() -> None:
    """As Coqui trains VITS: `loss_0` is the discriminator's, `loss_1` the sum of the generator's parts."""
    vits = log("loss_disc", "loss_0") | log("loss_mel", "loss_gen", values=(30.0, 20.0, 10.0))
    vits |= log("loss_1", values=(33.0, 24.0, 12.0))
    assert {name: role for name, role in roles(vits).items() if name in ("loss_0", "loss_1")} == {
        "loss_0": "part-loss",
        "loss_1": "loss",
    }


@pytest.mark.parametrize(("n_steps", "name"), [(20, "total_loss"), (12, "loss")])
def test_a_loss_with_one_value_a_step_is_judged_before_one_with_several(n_steps: int, name: str) -> None:
    """As DARTS logs: `loss` stands for six data sets in each epoch. A dozen epochs are no course."""
    logged = table(total_loss=np.linspace(2, 1, n_steps), valid_loss=np.linspace(2.2, 1.4, n_steps))
    steps = np.repeat(np.arange(n_steps), 6)
    logged["loss"] = Series("loss", Role.OTHER, steps, np.sin(steps), np.full(len(steps), np.nan))
    loss = judged(assign(logged).values())
    assert loss is not None and loss.metric == name


def test_the_loss_of_the_training_is_judged_before_a_bare_one() -> None:
    logged = table(
        loss=np.linspace(5, 3, 20), train_loss=np.linspace(6, 2, 20), test_loss=np.linspace(4, 1, 20)
    )
    loss = judged(assign(logged).values())
    assert loss is not None and loss.metric == "train_loss"


def test_a_name_that_tells_its_role_is_not_asked_for_its_values() -> None:
    foo, bar = curves(60, 1.0, 2.0)
    assert by_values(table(loss=foo + bar, grad_norm=foo, lr=bar)) == {}


def test_the_objective_is_judged_and_rises() -> None:
    agent = assign(log("train/loss", "ep_rew_mean", values=np.arange(3.0)))
    assert judged(agent.values(), fewest=3) is agent["ep_rew_mean"]
    assert judged_loss(agent.values(), fewest=3) is None
    assert {name: direction(series) for name, series in agent.items()} == {"train/loss": -1, "ep_rew_mean": 1}


def test_what_says_that_it_is_a_loss_is_judged_before_a_shorter_name() -> None:
    both = assign(log("nll", "total loss"))
    assert {name: series.role for name, series in both.items()} == {"nll": Role.LOSS, "total loss": Role.LOSS}
    assert judged(both.values(), fewest=3) is both["total loss"]


def test_a_score_of_both_is_judged_before_precision_and_recall() -> None:
    scored = assign(log("precision", "recall", "fscore"))
    assert judged(scored.values(), fewest=3) is scored["fscore"]


def test_what_is_told_as_it_is_is_judged_before_its_running_mean() -> None:
    pairs = ("Avg Reward", "Total Reward"), ("reward", "mean_reward"), ("ema_loss", "training_loss")
    for pair in (*pairs, ("min_fitness", "max_fitness")):  # nor the worst of a generation before the best
        some = judged(assign(log(*pair)).values(), fewest=1)
        assert some is not None
        assert some.metric in ("Total Reward", "reward", "training_loss", "max_fitness")


def test_a_score_is_judged_where_nothing_else_is() -> None:
    scored = assign(log("val_acc", "wer", "lr"))
    assert {name: direction(series) for name, series in scored.items()} == {"val_acc": 1, "wer": -1, "lr": 0}
    of_places = assign(log("val_acc_mean_pos", "acc_pos"))  # of the right answer, and of positive ones
    assert [direction(series) for series in of_places.values()] == [-1, 1]
    assert judged(scored.values(), fewest=3) is scored["wer"]
    both = assign(log("val_acc", "val_loss"))
    assert judged(both.values(), fewest=3) is both["val_loss"]


@pytest.mark.parametrize("name", ["score", "Average Score", "mean_score", "avg score"])
def test_a_score_that_stands_alone_is_the_objective(name: str) -> None:
    score = Series(name, Role.OTHER, np.arange(3), np.arange(3.0), np.full(3, np.nan))
    assert assign({name: score})[name].role is Role.OBJECTIVE
    loss = replace(score, metric="loss")
    assert assign({name: score, "loss": loss})[name].role is not Role.OBJECTIVE


def test_names_that_come_again_with_another_prefix_are_of_the_validation() -> None:
    named = roles(log("tr_loss_total", "tr_loss_swing", "vl_loss_total", "vl_loss_swing", "vl_size"))
    assert (named["tr_loss_total"], named["vl_loss_total"]) == ("loss", "validation-loss")
    assert named["vl_size"] == "other"
    assert roles(log("vl_loss", "lm_loss"))["vl_loss"] != "validation-loss"  # of vision and language


def test_a_part_that_is_validated_beside_the_whole_is_a_part() -> None:
    parts = ("train_loss_bbox", "train_loss_giou", "test_loss_bbox", "test_loss_giou")
    whole = roles(log("train_loss", "test_loss", *parts))
    assert {whole[name] for name in parts} == {"part-loss"}
    assert (whole["train_loss"], whole["test_loss"]) == ("loss", "validation-loss")
    alone = roles(log("train_loss", *parts))
    assert {alone[name] for name in parts[2:]} == {"validation-loss"}


def test_rewards_that_are_spelled_in_two_ways_are_two() -> None:
    assert roles(log("Reward", "reward", "lr")) == {
        "Reward": "objective",
        "reward": "objective",
        "lr": "learning-rate",
    }


def test_the_return_of_a_test_is_the_objective_of_an_agent_that_imitates() -> None:
    """A discriminator and a critic stand beside its actor."""
    told = roles(log("loss/disc", "loss/critic", "loss/actor", "stats/acc_pi", "return/test"))
    assert (told["return/test"], told["loss/actor"]) == ("objective", "part-loss")


def test_a_reward_is_judged_before_its_mean_over_the_whole_run() -> None:
    some = judged(assign(log("Cumulative Reward/(t)", "Episodic Reward/episode")).values(), fewest=1)
    assert some is not None
    assert some.metric == "Episodic Reward/episode"


def test_a_bare_score_beside_the_share_of_chance_moves_is_the_objective() -> None:
    agent = roles(log("Average_Score", "Epsilon", "Loss"))
    assert (agent["Average_Score"], agent["Loss"]) == ("objective", "part-loss")


def test_a_count_of_rewards_is_no_reward() -> None:
    assert roles(log("mean_reward_window", "reward_count_window")) == {
        "mean_reward_window": "objective",
        "reward_count_window": "score",
    }


def test_losses_that_are_called_l() -> None:
    assert roles(log("train_L_vae", "val_L_vae")) == {"train_L_vae": "loss", "val_L_vae": "validation-loss"}


def test_a_bare_loss_is_a_part_of_a_total_to_which_it_sums() -> None:
    random = np.random.default_rng(0)
    loss, other = random.normal(3, 0.5, 60), random.normal(1, 0.2, 60)
    columns = {"loss": loss, "orth_loss": other, "total_loss": loss + other}
    steps = np.arange(60)
    assigned = assign(
        {name: Series(name, Role.OTHER, steps, column, steps * 1.0) for name, column in columns.items()}
    )
    assert {name: series.role.value for name, series in assigned.items()} == {
        "loss": "part-loss",
        "orth_loss": "part-loss",
        "total_loss": "loss",
    }


def test_a_number_of_phrases_beside_parts_of_a_loss_is_no_loss() -> None:
    assert roles(log("Losses/parser", "train")) == {"Losses/parser": "loss", "train": "other"}


def test_terms_of_a_reward_are_not_what_is_judged() -> None:
    names = ("Train/mean_reward", "Episode/rew_torques", "Episode/rew_collision", "Episode/rew_feet_air_time")
    told = roles(log(*names))
    assert told == {
        "Train/mean_reward": "objective",
        "Episode/rew_torques": "other",
        "Episode/rew_collision": "other",
        "Episode/rew_feet_air_time": "other",
    }


def test_a_mean_says_of_no_part_of_a_reward() -> None:
    names = ("mean_reward", "q_reward", "grad_norm/avg", "grad_norm/embed")
    assert roles(log("loss", *names)) == {
        "loss": "part-loss",
        "mean_reward": "objective",
        "q_reward": "score",
        "grad_norm/avg": "grad-norm",
        "grad_norm/embed": "other",
    }


def test_a_total_beside_a_part_that_is_called_a_loss_is_the_loss() -> None:
    told = roles(log("total", "pulse", "frequency_loss", values=(2.5, 1.5, 0.5)))
    assert (told["total"], told["frequency_loss"]) == ("loss", "part-loss")


def test_whole_numbers_of_the_training_and_the_validation_are_counts() -> None:
    steps = np.arange(12)
    counts = {
        n: Series(n, Role.OTHER, steps, np.full(12, v), steps * 1.0)
        for n, v in (("train", 274.0), ("val", 31.0))
    }
    assert {name: series.role.value for name, series in assign(counts).items()} == {
        "train": "other",
        "val": "other",
    }


def test_a_negative_log_probability_goes_before_an_error_that_is_told_less_often() -> None:
    assigned = assign(log("logprob", values=[0.5] * 90) | log("Train error", values=[0.4] * 12))
    assert {name: series.role.value for name, series in assigned.items()} == {
        "logprob": "loss",
        "Train error": "other",
    }


def test_whole_numbers_called_l_are_games_or_lengths() -> None:
    for name, role in {"l": "loss", "eval_l": "validation-loss"}.items():
        assert roles(table(**{name: [21.0, 18.0, 20.0]})) == {name: "other"}
        assert roles(table(**{name: [2.1, 1.8, 2.0]})) == {name: role}


def test_what_is_told_once_says_nothing_of_the_others() -> None:
    both = {name: [3.0 - i / 8 for i in range(9)] for name in ("train", "test")}
    assert roles(log("loss", values=[2.5]) | table(**both)) == {
        "loss": "loss",
        "train": "loss",
        "test": "validation-loss",
    }


def test_the_score_of_the_reward_model_is_the_objective_of_openrlhf() -> None:
    roles = {name: series.role for name, series in assign(log("pg", "rm", "ret", "kl", "act_lr")).items()}
    assert [name for name, role in roles.items() if role is Role.OBJECTIVE] == ["rm"]


def test_losses_of_data_sets_have_the_whole_among_them() -> None:
    """A detector logs `hmap_Loss` and `whd_Loss` beside a weighted sum of both, which is no mean of them."""
    hmap, whd = np.linspace(6.0, 1.0, 40), np.linspace(8.0, 24.0, 40)
    told = roles(table(hmap_Loss=hmap, whd_Loss=whd, train_Loss=0.5 * hmap + 0.1 * whd))
    assert told == {"hmap_Loss": "part-loss", "whd_Loss": "part-loss", "train_Loss": "loss"}
    told = roles(table(hmap_Loss=hmap, whd_Loss=whd, train_Loss=0.9 * hmap + 0.1 * whd))
    assert told == {"hmap_Loss": "dataset-loss hmap", "whd_Loss": "dataset-loss whd", "train_Loss": "loss"}


def test_whole_numbers_under_a_bare_l_are_lengths() -> None:
    assert assign(log("l", "t", values=(1000.0, 2000.0, 3000.0)))["l"].role is Role.OTHER
    assert assign(log("L", "lr", values=(2.5, 2.25, 2.0)))["L"].role is Role.LOSS
    assert assign(log("total", "acc", values=(1000.0, 2000.0, 3000.0)))["total"].role is Role.OTHER
    assert assign(log("train", values=(2.0, 3.0, 1.0)))["train"].role is Role.OTHER  # "train 2": an agent
    assert assign(log("train", values=(2.5, 3.0, 1.0)))["train"].role is Role.LOSS


def test_parts_with_a_bare_name_stand_beside_a_loss() -> None:
    roles = {name: s.role for name, s in assign(log("loss", "ce", "kl", "accuracy")).items()}
    assert roles == {"loss": Role.LOSS, "ce": Role.PART_LOSS, "kl": Role.PART_LOSS, "accuracy": Role.SCORE}
    assert assign(log("loss", "kl", "accuracy"))["kl"].role is Role.OTHER


def test_a_part_of_a_loss_that_is_switched_off_does_not_stand_for_the_whole() -> None:
    """The poses of YOLO, whose keypoints may have no visibility to learn."""
    assigned = assign(log(*(f"train/{part}_loss" for part in ("box", "pose", "kobj", "cls", "dfl"))))
    assert [name for name, series in assigned.items() if series.role is Role.LOSS] == ["train/box_loss"]


def test_a_loss_that_is_nothing_throughout_does_not_stand_for_the_whole() -> None:
    """A term with a weight of zero, beside losses that are not called so."""
    unused = log("again/align_loss", "first/align_loss", values=(0.0, 0.0, 0.0))
    both = roles(unused | log("again/train_cross_entropy", "first/train_cross_entropy"))
    assert [name for name, role in both.items() if role == "loss"] == ["again/train_cross_entropy"]
    assert "loss" in roles(unused).values()
    assert "loss" in roles(log("again/align_loss", values=(0.0, 0.0, 0.0)) | log("lr")).values()


def test_a_loss_that_is_nothing_throughout_leaves_the_others_what_they_are_alone() -> None:
    """A term that is switched on later, beside parts of a loss: it alone has a word that no part has."""
    parts = log("recon loss", "style loss", "cycle loss")
    both = roles(parts | log("taught loss", values=(0.0, 0.0, 0.0)))
    assert both == {**roles(parts), "taught loss": "part-loss"}
    assert roles(parts | log("taught loss"))["taught loss"] == "loss"


@pytest.mark.parametrize("name", ["daily_return", "annualized_return", "monthly returns"])
def test_the_return_of_an_investment_is_no_objective(name: str) -> None:
    assert "objective" not in roles(log(name, "account_value")).values()


@pytest.mark.parametrize("name", ["FG-ARI", "mBO", "ari", "NMI"])
def test_scores_of_groups_that_were_found(name: str) -> None:
    assert role_of(name) is Role.SCORE


@pytest.mark.parametrize(
    ("names", "held_out"),
    [
        ("train_loss, val_rmse, val_mae", {"val_rmse"}),
        ("train_mse, val_mse, val_rmse", {"val_mse"}),
        ("train_loss, val_loss, val_rmse", {"val_loss"}),
        ("train_cost, val_error, val_rmse", {"val_error"}),
    ],
)
def test_an_error_of_the_validation_stands_for_its_loss(names: str, held_out: set[str]) -> None:
    roles = {name: series.role for name, series in assign(log(*names.split(", "))).items()}
    assert {name for name, role in roles.items() if role is Role.VALIDATION_LOSS} == held_out
    assert [role for name, role in roles.items() if "train" in name] == [Role.LOSS]


def test_a_divergence_is_judged_only_where_no_loss_and_no_reward_is_logged() -> None:
    assert roles(log("KL", "acc")) == {"KL": "loss", "acc": "score"}
    assert roles(log("KL", "loss")) == {"KL": "other", "loss": "loss"}
    assert roles(log("kl", "ep_rew_mean")) == {"kl": "policy-kl", "ep_rew_mean": "objective"}


@pytest.mark.parametrize("name", ["valid_rse", "test rrse", "val_rae"])
def test_relative_errors_of_forecasts(name: str) -> None:
    assert role_of(name) is Role.VALIDATION_LOSS


@pytest.mark.parametrize("group", ["bc", "critic"])
def test_the_name_in_front_of_all_metrics_says_nothing_of_a_loss(group):
    """`bc/loss` of an agent beside its other losses; `bc/loss` beside others is of a boundary."""
    logged = {"loss": "loss", "ent_loss": "part-loss", "l2_loss": "part-loss", "entropy": "policy-entropy"}
    told = by_names(tuple(f"{group}/{name}" for name in logged), ())
    assert told == {f"{group}/{name}": role for name, role in logged.items()}
    beside = by_names((f"{group}/loss", "data/loss", "loss"), ())
    assert beside[f"{group}/loss"] == "part-loss"
