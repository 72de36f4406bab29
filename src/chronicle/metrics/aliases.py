"""Names of metrics as real logs spell them: the ordered table of aliases, printed in docs/metrics.md. Below
it words of training in other languages, names of what counts the steps, and clocks without a year.

A pattern is searched in the plain form of a name (`chronicle.metrics.names.plain`); the first one holds.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from chronicle.metrics.arithmetic import median
from chronicle.model import Floats, Role, Series, Steps, cached_by_object

EVALUATED = (
    r"\b(val|vali|valid|validate|validating|validation|eval|evaluating|evaluation|test|testing|tst|dev"
    r"|held ?out|hold ?out|tel)\b"
)
PER_SECOND = r"(per|/|p) ?(s|sec|secs|second|gpu|device|day)\b"
A_LOSS = (
    r"\b(loss|losses|nll|neg(ative)? ((log ?)?likelihood|elbo)|nelbo|cross ?entropy|xent|m?logloss|ce mean"
    r"|objective|bpb|bpc|bpd|bits per (byte|character|dim))\b"
)
# What a training is judged by where it logs no loss: the whole name says that it is an error.
_OF = (
    r"(train(ing)?|trn|learn|val(id(ation)?)?|eval|test|dev|mean|avg|average|scaled|metrics|client|history|s"
    r"|batch|current|expected|\d+)"
)
# Losses of CatBoost, LightGBM and XGBoost, and those among them that are other things without a phase.
_OF_BOOSTING = (
    r"multi ?class( one vs all)?|query ?(rmse|soft ?max)|multi ?rmse|rmse ?with uncertainty|msle|smape|mphe"
    r"|merror|(binary|multi) error|pair logit( pairwise)?|log ?cosh|log lin quantile"
    r"|gamma deviance|kullback leibler|(poisson|gamma|cox|aft|tweedie) nloglik"
)
_OF_BOOSTING_TOO = r"quantile|poisson|huber|expectile|tweedie|lq|cox|fair|gamma|focal"
AN_ERROR = (
    rf"^(({_OF} )*(n?rmse|rmsle|mse|mae|mape|wape|mase|r?rse|rae|crps|pinball|epe|ppl|perplexity|cost"
    r"|error rate|b?ce|deviance|exploitability"
    r"|(root )?(mean )?(abs|absolute|sq|squared?)( percentage| logarithmic)? error"
    rf"|{_OF_BOOSTING})"
    rf"|({_OF} )+(err(or)?|(smooth ?)?l[12]|{_OF_BOOSTING_TOO})|err(or)?(?= {_OF}))"
    r"( (l[12]|dice))?"  # `CE+Dice`: added to it
    rf"( (alpha|delta|q|variance power))?( ({_OF}|estimate))*$"
    rf"|^({_OF} )*l( (?!r$)[a-z]+){{0,2}}$|^learn$"
)
# What agents log of their updates, also behind the name of a run: `PPO_rewards_approx_kl`.
_OF_UPDATES = r"approx kl|clip (fraction|range)|explained variance|n updates"
# What an optimisation makes small, and may be named by what it costs; but not what the computation costs.
A_COST = (
    r"^(?!.*\b(time|clock|reader|data|memory|compute|communication|tokens?|usd|dollars?|api)\b)"
    rf".*\bcosts?( {_OF})*$"
)
_STEERS = r"\b(losses|loss|coeff?|weight|scale|bonus|model|normalizer|threshold|clip\w*)\b"
SPREADS = r"\b(std|stdev|stddev|sd|var|variance|sem)\b"
MEANS = ("mean", "avg", "average", "averaged")
OF_WHOLES = frozenset({"total", "population", "s", *MEANS})  # "Population's average fitness" of neat-python
# Of games, also of those against chance, and of battles in SMAC.
_A_WIN = r"(win ?(rate|ratio|share|pct|percent|random)|battle won)"
A_WIN = rf"\b({_A_WIN}|elo)\b"  # what games are judged by
REWARDED = (
    rf"\b(rewards?|rew|rwd|returns?|fitness|utility|ep(isodic|isode)? (ret|rew|r|scores?)|ret mean|{_A_WIN}"
    r"|eprewmean|objective scores?)\b"
)
# The divergence of a policy from its reference, where a reward is logged; not that from its last update.
_OTHER_KL = r"approx|old|update|coeff?\w*|beta|target|penalty|rewards?|early|max|min|std|var"
FROM_REFERENCE = rf"^(?!.*\b({_OTHER_KL})\b).*\bkl\b"
# How strong a player is, in games against others: what games against itself are judged by.
AN_ELO = (
    r"^(?!.*\b(opponents?|opp|old|prev(ious)?|loss|diff\w*|delta|change|gain|min|max|std|games|threshold|gate|k)\b)"
    r".*\belo\b"
)
A_SCORE = (
    r"\b(b?accs?|accuracy|accurancy|accuracies|bleu|chrf|rouge\w*|meteor|cider|wer|cer|eer"
    r"|m?fb?1s?(?! (ppl|perplexity))|f\d? ?(scores?|measure)|auc|auroc"  # not of the first factor of a word
    r"|au ?prc?|m?ap ?\d*|ari|nmi|mbo|mrr|ndcg|iou|miou|jaccard|dice|ssim|psnr|fid|em|exact match|precision"
    r"|recall|^is$|sensitivity|specificity|mcc|kappa(?! \w)|qwk|rewards?|rew|returns?|fitness|ep ret|top ?\d"
    r"|s?ents [fpr]|cats (macro |micro )?[fpr]"  # of spaCy
    r"|hellaswag|hella|mmlu|scores?|spearmanr?|pearsonr?|matthews\w*|r2|(hits?|hr) \d+|(si )?sdr|pesq|stoi"
    r"|mean ?io?u|(^|(?<=cmc )|(?<=val )|(?<=validation )|(?<=eval )|(?<=test ))rank 0+$"  # of persons
    rf"|{_A_WIN}|(success|solve) ?rate|success$|((^|percent |pct )correct|solved|resolved)$"
    r"|(?<!neg )(?<!negative )(?<!log )((log ?)?likelihood|elbo))\b"
)


# What other languages call it, and words that are written as one; searched in lower-case names.
SPELLED = {
    r"entra[iî]nement|entrenamiento|treino|trainings?(?=verlust)|обучени[ея]|训练|訓練|学習|훈련": "train",
    r"validaci[oó]n|valida[cç][aã]o|validierungs?|validazione|валидаци[ия]|验证|検証|검증": "validation",
    r"(?<![a-z])(?:p[eé]rdidas?|pertes?|perdas?|perdita)(?![a-z])|verluste?|потер[яи]|损失|損失|손실": "loss",
    r"(?<![a-z])(?:kosten|co[uû]ts?|costes?|costos?|custos?|costi)(?![a-z])": "cost",
    r"genauigkeit|exactitude?|acur[aá]cia|准确率|正解率|정확도|точность": "accuracy",
    r"precisión|precisão|précision": "precision",
    r"(?<![a-z])trn?(?=loss|acc)": "train",
    r"(?<![a-z])(train|val|valid|test|tst|dev|eval|t|v|p|batch|avg|total|running|actor|critic|policy|value"
    r"|adv|ce|cls|content|dice|disc|focal|gen|kd|kl|mse|rec|recon|reg|soft|style)"
    r"(?=(loss|acc|err|ppl)(?![a-z]))": r"\1",
    r"(?<![a-z])(train|eval|test|avg|mean|total|episode)(?=(score|reward|return)s?(?![a-z]))": r"\1",
    r"(?:(?<=loss)|(?<=acc|auc)|(?<=accuracy)|(?<=reward)|(?<=rewards))(?=\d)": "",
    r"(?<=ing|ion|val|est) phase\b": "",
    r"(?<![a-z])(?:trn?|train)[ _/]ls(?![a-z])": "train loss",
    r"(?<![a-z])(?:vl|va|val|valid|te|ts|test)[ _/]ls(?![a-z])": "validation loss",
    r"(?<![a-z])r(?:\^2|²)(?!\d)": "r2",
    r"(?<![a-z])(err|loss)(?=(?:[gd]|values?)(?![a-z]))": r"\1",
    r"(?<![a-z])([gd])(?=loss(?![a-z]))": r"\1",
}


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


ERROR_WORDS = word_set("""
    rmse nrmse rmsle mse mae mape wape mase rse rrse rae crps pinball epe ppl perplexity cost rate err error
    absolute abs sq square squared ce bce deviance l l1 l2 pix total multi class one query softmax soft
    uncertainty msle smape mphe merror binary pair log quantile gamma leibler poisson cox aft tweedie huber
    expectile lq fair focal
""")
SQUARED = word_set("mse rmse nrmse sq square squared")  # errors of which most fits make one small
# Parts of a loss that tell how far from its target the output is.
DISTANCES = word_set("""
    l1 l2 mse mae rec recon reconstruction mel stft cycle cyc pix pixel perceptual perc vgg lpips feat feature
    content wave waveform mag magnitude spec spectral diffusion
""")
# What is of a window of rows, of one side of what is judged, or of the worst of several.
SECOND_CHOICE = word_set("""
    precision recall avg average mean running moving smoothed ema cumulative min lowest worst
""")
PUT_TOGETHER = SECOND_CHOICE | OF_WHOLES  # how several values are put together, and not which
# What only steers a model beside what it learns, and stands for its loss last of all.
STEERING = word_set("entropy lb load balance balancing aux auxiliary router gate gating")
# Who plays in an adversarial training. The loss of an opponent rises where the other one learns.
GENERATORS = word_set("g gan gen generator")
OPPONENTS = word_set("cri critic dis disc discriminator d real fake")
BESIDE_PLAYERS = word_set("a b x y err error")  # in names that do not speak of a loss: `cycle_A`, `errD`
STANDING = GENERATORS | {"ce", "bce"}  # parts that stand for a total even beside a perplexity or an error
# Words beside "loss" that name no part: the whole loss, averaged or spelled out.
TOTALS = word_set("""
    all average avg mean total tot overall combined global server aggregated sum train training step epoch
    iter iteration batch ema smoothed running raw reduced lm language model token text vs tokens samples
    steps time final last interval window local rank so far main current cur tr trn trl nats bits per dim
    neg negative s binary multi metrics history curve curves
""")
PREFERENCES = word_set("chosen rejected margin margins")  # which is what rewards are made of then
PREDICTED = word_set("reward precision")  # where a reward has one, a model of an environment predicts it
OF_PPO = word_set("policy pg surrogate entropy value vf")  # no policy is judged by one of these alone
# Of a policy or of one of two players: what such a loss comes to says nothing without the others.
NEVER_ALONE = OF_PPO | GENERATORS | (OPPONENTS - {"real", "fake"}) | {"actor"}
# Words of the losses that an agent is trained with; where there are no others, a bare score is its objective.
OF_AGENTS = OF_PPO | word_set("actor act p pi critic cri v td qf qf1 qf2 q1 q2 alpha bellman")
OF_DETECTORS = word_set("box bbox obj cls dfl giou")  # parts of a loss, which some print without the word
# Parts of one model's loss: no data sets, and not what a run is judged by while a total is logged.
COMPONENTS = DISTANCES | STEERING | GENERATORS | OPPONENTS | OF_DETECTORS | (OF_AGENTS - {"v"})
COMPONENTS |= word_set("""
    classifier classification iou mask objectness rpn reg regression seg dice focal centerness kpt pose
    angle depth mtp moe expert kl kld unsuper commit commitment vq codebook adv adversarial style
    contrastive itc itm mlm nsp semantic temporal spatial distill distillation kd student teacher tv
    smoothness smooth ctc att attention duration pitch energy wd penalty fm regularization tok2vec ner
    tagger parser textcat morphologizer ce bce hinge triplet dpo sft chosen rejected idt identity gp rl
    reward curiosity pde phys ode bc bcs ic ics physics boundary residual residuals collocation latent vb
    vlb q0 q3 q4 vicreg scaled encoder decoder kobj prior output
""")
OF_AUTOENCODERS = word_set("rec recon reconstruction"), word_set("kl kld")  # one of each: parts of its loss
DIVERGENCE = word_set("divergence div")  # said of a KL
BESIDE_A_LOSS = OF_DETECTORS.union(*OF_AUTOENCODERS, word_set("ce bce nll"))  # parts by a bare name
OF_WEIGHTS = word_set("lambda weight coef coeff coefficient beta")  # of a part of a loss
# A reward as the policy gets it, and the name of what the task gave for the same answer.
SCORES_OF_TASKS = (("rewards", "score"), ("rewards", "raw reward"), ("rlhf reward", "scores"))
BARE_SCORES = frozenset(("score", "scores", "episode score"))
# What a loss is made of whose network learns what a search of moves found; a policy gradient logs more.
OF_SEARCH = word_set("policy value")
ADVANTAGES = word_set("advantage advantages")
OF_POLICY_GRADIENT = ADVANTAGES | word_set("clip clipfrac kl surrogate explained")
OF_RANDOM_ACTIONS = word_set("eps epsilon exploration")  # how large a share of them is
EXPLORING = word_set("eps epsilon ent entropy episode")  # a bare `r` beside it is what an agent was given
OF_OPENRLHF = word_set("rm ret")  # beside each other: the score of the reward model, and what it came to
OF_SELF_PLAY = word_set("pool league elo opponents selfplay")
OF_EPISODES = word_set("ep episode episodes episodic return returns cumulative")
OF_WINDOWS = word_set("running moving smoothed")  # of the last episodes
# Of episodes, by the names of stable-baselines3: lengths, and means of rewards.
OF_LENGTHS, OF_MEANS = word_set("ep len"), word_set("ep rew mean")
# Words of a reward that is that of the whole task, and no term of one.
OF_WHOLE_REWARDS = OF_EPISODES | word_set("""
    reward rewards rew rwd ret fitness score mean avg average sum total train training rollout charts env
    environment stats time step steps iter iteration smoothed running recent window last all agent t info
""")
LOG_PROBABILITIES = frozenset(("logprob", "log prob", "logp", "log probability"))
A_BOUND = "elbo"  # of the log of a probability, which lies far below zero before anything is learned
BETTER_LOWER = word_set("wer cer eer fid err error regret cost hamming")
# Of the right answer among all: the first is best.
PLACES = tuple(map(word_set, ("mean rank", "median rank", "mean pos", "mean position")))
# Names that only say whose value they are: of the training where one of the others stands beside it.
OF_TRAINING = frozenset(("train", "training", "trn", "learn", "t loss"))
OF_EVALUATION = word_set("val valid validation eval evaluation test tst dev holdout heldout")
OF_EVALUATION |= {"held out", "v loss"}
OF_PHASES = OF_TRAINING | OF_EVALUATION
# What is measured of memory is no setting of a training, and how many machines there are none of its work.
OF_MEMORY = word_set("cuda gpu mem memory ram rss vram")
OF_MACHINES = word_set("device devices gpu gpus node nodes process processes rank ranks worker workers world")
# What stands before the names of a validation, and in its place before those of the training.
TWINS = {"v": ("", "t "), "vl": ("tr ",), "vld": ("trn ", "tr "), "va": ("tr ",)}
KINDS_OF_DATA = word_set("dataset datasets source domain subset corpus")
CORPORA = KINDS_OF_DATA | word_set("""
    cm4 pmd laion obelics wikipedia wiki c4 mc4 pile github code
    books book arxiv stackexchange commoncrawl cc web webtext refinedweb fineweb dolma math python java lisp
    javascript rust cpp news starcoder redpajama slimpajama oscar reddit pubmed patents openwebtext owt logs
    english french german chinese multilingual dclm proofpile gutenberg europarl law legal medical
""")


@dataclass(frozen=True)
class Alias:
    """A row of the table: a role, what the plain name must contain, and names it was seen under."""

    role: Role
    pattern: str
    seen: str


# fmt: off
ALIASES: tuple[Alias, ...] = (
    Alias(Role.OTHER, r"^(config|cfg|hparams|hyper ?param(eter)?s) ", "config/peak_lr, hparams/batch_size"),
    Alias(Role.ATTENTION_LOGIT,
        r"\b(attn|attention|qk)\b.*\b(logits?|max)\b|\blogits?\b.*\b(attn|attention|qk)\b",
        "max_attention_logit, attn/logits_max, qk_max"),
    Alias(Role.OUTPUT_LOGIT,
        r"^(?!.*\b(router|gate|gating|moe|experts?)\b).*\bz ?loss\b|\blog ?z\b"
        r"|\blog ?sum ?exp\b|\blse\b|(?<!pair )\blogits?\b(?! (scale|bias))",
        "z_loss, log Z, logsumexp, logits_mean, max_logit"),
    Alias(Role.POLICY_ENTROPY,
        rf"^(?!.*({EVALUATED}|{SPREADS}|\b(loss|coeff?\w*|weight|bonus|cross|target|relative|router|gat\w+|moe"
        r"|experts?|max|min|attn|attention|data\w*|cluster|codebook)\b)).*\bentropy( (mean|avg|average))?$",
        "entropy, policy/entropy, actor/entropy, policy/entropy_avg, objective/entropy, losses/entropy"),
    Alias(Role.ANSWER_LENGTH,
        rf"^(?!.*({EVALUATED}|{SPREADS}|\b(max|min|clip\w*|penalty|rewards?|terminated|prompts?)\b))"
        r".*\b(response|completion|answer|generation)s?( \w+)? (length|len)s?( (mean|avg|average))?$",
        "completions/mean_length, completion_length, response_length, response_length/mean"),
    Alias(Role.POLICY_KL,
        rf"^(?=.*\b(ref|reference|start|objective|policy|actor)\b)(?!.*\bloss\b){FROM_REFERENCE}",
        "objective/kl, kl_ref, ref_kl, policy/kl_to_start"),
    Alias(Role.CLIPPED_SHARE,
        r"\bgrad(ient)?s?\b.*\bclip\w*\b.*\b(frac|fraction|share|rate|percent\w*|pct)\b|^clip$",
        "grad_clip_fraction, train/grad_clip_frac, gradients/clip_rate, clip"),
    Alias(Role.EXPERT_LOAD,
        rf"^(?!.*({EVALUATED}|{SPREADS}|\b(loss|losses|balancing|entropy|bias|min|dropped)\b))"
        r"(.*\bexperts? ?\d+\b.*\b(load|utili[sz]ation|usage|tokens|counts?|fraction|frac|share)\b"
        r"|.*\b(load|utili[sz]ation|usage|tokens|counts?|fraction|frac|share)\b.*\bexperts? ?\d+\b"
        r"|.*\b(load imbalance|max ?vio|max violation)\b|.*\bexperts?\b.*\b(load|utili[sz]ation) max\b)",
        "moe/expert_3/load, tokens_per_expert/expert_3, load imbalance, e_max_violation:mean, MaxVio"),
    Alias(Role.LOSS_SCALE, r"\b(loss|grad|gradient|amp) scale\b|\bgrad scaler\b",
        "loss scale, loss_scale, dynamic loss scale, grad_scale"),
    Alias(Role.OTHER,
        r"\bnum (examples|samples|zeros|tokens in batch)\b|\bskipped\b|\bnan iterations\b|\bsparsity\b",
        "validation/num_examples, num-zeros, number of skipped iterations"),
    Alias(Role.OTHER,
        rf"^(?=.*{A_LOSS}).*\b(best|min|minimum|lowest|num|counts?|std|stdev|stddev|var|variance|weights?|wt|coeff?)\b",
        "best_val_loss, Loss/G/loss/num, train_loss_std, loss_weight, mask_loss_wt"),
    Alias(Role.UPDATE_NORM, r"\b(update|delta|step)s? (l2 )?(norm|rms)\b|\bupdate ratio\b",
        "update_norm, optim/update_rms"),
    Alias(Role.GRAD_NORM,
        r"\bgrad(ient)?s?\b.*\bnorm\b|\bnorm\b.*\bgrad(ient)?s?\b|\bg ?norm\b|\bglobal norm\b|^norm$|^grdn$",
        "grad_norm, grad norm, gnorm, norm, hidden_gradient_norm, grdn"),
    Alias(Role.OTHER, EVALUATED
        + r".*\b(runtime|time|per (second|sec|s)|steps?|duration|samples|examples)$|\beta\b|\bdata time\b",
        "eval_runtime, eval_samples_per_second, eta_seconds, data_time"),
    Alias(Role.OTHER,
        rf"^(?=.*{PER_SECOND}|.*\b(throughput|flops)\b).*\b(sampler|sampled|sampling|rollouts?|generat\w+"
        r"|decod\w+|inference|peak|promised|theoretical|max|maximum|best)\b",
        "num_env_steps_sampled_per_second, rollout/tokens_per_second, peak_flops"),
    Alias(Role.OTHER, r"^(timing|timers?|time|profiling)\b.*\b(rewards?|scores?)\b"
        r"|\b(rewards?|scores?) (fn |func |function |model )?(time|duration|latency)\b",
        "timing_s/reward, time/reward_fn, reward_time"),
    Alias(Role.LEARNING_RATE, r"\b(l ?r\d*|lrs|lrm|learn(ing)? rates?|lernrate)\b|\w pg\d+$",
        "lr, learning_rate, train/learning_rate, lr/pg0, schedule/pg1, x/lr0, lr-AdamW, L.r., train/lrm,"
        " LearnRate"),
    Alias(Role.STEP_TIME, r"\b(step|iteration|iter|batch) (time|timing|duration|cost|avg)\b"
        r"|\btime (per step|(per )?(iteration|iter|batch))\b|\btiming (s|ms) step$"
        r"|\b((s|sec|seconds|ms) per|ms|sec) (step|iteration|iter|it|batch)\b"
        r"|^(dt|time|timer)( (ms|s|sec|seconds))?$|^(ms|seconds)$|\btime this (iters?|step|batch)\b",
        "elapsed time per iteration (ms), train_step_time, step_avg, time/iter, batch_cost, dt, time"),
    Alias(Role.THROUGHPUT,
        r"\b(tokens?|toks?|samples?|examples?|sequences?|seqs?|images?|imgs?|frames?|words?|steps?|its?|iters?|iterations?"
        r"|batches|batch)( \w+)? "
        + PER_SECOND
        + r"|\b(tokens?|tok|samples?|images?|img|it|iter|steps?) (sec|s)\b"
        r"|\bthroughput\b(?!.* total )|\b(wps|tps|sps|fps|ups|ips|mfu|hfu)\b|\btflops?\b|\bflops\b",
        "tokens_per_sec, tok/sec, samples per second, wps, SPS, ips, throughput, TFLOPs per gpu, mfu"),
    Alias(Role.RATIO,
        r"^(?!.*\b(clip|clipped|compression|acceptance|win|lr)\b).*\b(ratio|share|proportion)s?\b"
        r"|\b(mix|mixture|data|dataset|sampling)\b.*\b(weight|prob|fraction)s?\b",
        "image_to_text_ratio.all, data/share/code, mixture_weight/web"),
    Alias(Role.BATCH_SIZE, r"\bbatch ?size\b|\b(bsz|gbs)\b|\bglobal batch\b(?! (idx|index|id|num|number)\b)",
        "global batch size, batch_size, bsz"),
    Alias(Role.TOKENS, r"\b(consumed|seen|trained|total|num|n|input|processed) (\w+ )?tokens\b"
        r"|(?<!vs )\btokens( seen| consumed| trained| processed)?$",
        "consumed tokens, tokens_seen, num_input_tokens_seen, tokens_processed, tokens"),
    Alias(Role.SAMPLES,
        r"\b(consumed|seen|trained|total|processed) (samples|examples)\b|^(samples|examples)( seen| count)?$",
        "consumed samples, samples_seen, samples_count"),
    Alias(Role.EPOCH, r"^((train|trainer|training|current) )?epochs?( num)?$", "epoch, train/epoch"),
    Alias(Role.VALIDATION_LOSS, EVALUATED + ".*" + A_LOSS + "|" + A_LOSS + ".*" + EVALUATED + "|^(val|tel)$"
        r"|\b(te|ts|va|cv) loss\b|\bloss (te|ts|va|cv)$",
        "val_loss, validation/loss, eval_loss, test/loss, tel, validation/ctc_loss, val_bpb, va_loss"),
    Alias(Role.VALIDATION_SCORE, EVALUATED + ".*" + A_SCORE + "|" + A_SCORE + ".*" + EVALUATED
        + rf"|^va? acc(uracy)?$|{AN_ELO}",
        "val_accuracy, eval/bleu, test_acc, validation/wer, VAcc, Self-play/ELO"),
    Alias(Role.OTHER,
        rf"^(?=.*{REWARDED}).*({SPREADS}|\b(version|(length|len)( mean)?|{_OF_UPDATES})$)",
        "reward_std, rollout/return_std, reward_version, Total_reward/Episode_length, PPO_rewards_approx_kl"),
    Alias(Role.OBJECTIVE,
        rf"^(?!.*{_STEERS})(?!.*\b(arena|max|min|best|worst|highest|lowest|quantile|p\d+|counts?|market|portfolio|stock"
        rf"|daily|weekly|monthly|annual(?:i[sz]ed)?)\b).*{REWARDED}",
        "reward, ep_rew_mean, episode_reward_mean, charts/episodic_return, AverageEpRet, fitness"),
    Alias(Role.DATASET_LOSS, r"\bper token loss\b|\bloss\b.*\b(dataset|source|domain|subset|corpus)\b"
        r"|\b(dataset|source|domain(?! (class|adv|disc))|subset|corpus)\b.*\bloss\b",
        "per_token_loss.cm4, loss/dataset_code, train_loss_source_web"),
    Alias(Role.LOSS, A_LOSS + "|^(trl|train)$",
        "loss, train_loss, train/loss, Loss/train, lm loss, total_loss, batchloss, trl, objective"),
    Alias(Role.VALIDATION_LOSS, rf"^(?=.*{EVALUATED})(?:{AN_ERROR})", "eval-rmse, val_mae, valid ppl"),
    Alias(Role.LOSS, AN_ERROR,
        "train-rmse, Cost, perplexity, l_pix, l_g_percep, error_rate, MultiClass (where no loss is logged)"),
    Alias(Role.OTHER, r"^scores?$", "score"),
    Alias(Role.SCORE, A_SCORE, "accuracy, train_acc, bleu, wer, success_rate, episode_reward_max"),
)
# fmt: on

# What a trainer prints in other languages, and the word of it that all names are known by.
_WORDS_OF_OTHERS = {
    "epoch": "Epoche époque época epoca эпоха epok エポック 에포크 에폭 轮次 轮 輪次 輪 周期",
    "step": "Schritt étape paso passo шаг adım ステップ 스텝 步数 步骤 步",
    "batch": "батч バッチ 배치 批次",
    "iteration": "itération iteración iterazione итерация 反復 迭代次数 迭代 训练次数",
    "episode": "épisode episodio episódio эпизод エピソード 에피소드 回合",
    "reward": "belohnung récompense recompensa ricompensa награда 報酬 보상 奖励 獎勵",
    "current": "当前 目前 當前 anlık",
    "loss": "verlust perte pérdida perda perdita потери kayıp kaybı 損失 손실 로스 损失 损失值",
    "error": "Fehler erreur ошибка 誤差 오차 误差 hata",
    "error rate": "Fehlerrate 错误率",
    "accuracy": "genauigkeit précision exactitud acurácia accuratezza точность doğruluk 正解率 정확도"
    " 准确率 精度 正确率 準確率 正確率",
    "learning rate": "Lernrate 学習率 학습률 学习率 學習率",
    "grad norm": "勾配ノルム 梯度范数 梯度範數",
    "mean": "moyenne promedio ortalama",
    "train": "Trainings entraînement entrenamiento treino addestramento обучение обучении eğitim 訓練"
    " 훈련 训练 训练集",
    "validation": "Validierungs validación validação validazione валидация валидации doğrulama"
    " 検証 검증 验证 验证集 驗證 驗證集",
    "test": "prueba 测试 测试集 测试集上的 測試 測試集",
    "best": "beste meilleur mejor miglior migliore melhor 最佳 最优 最好",
    "score": "punteggio puntuación puntaje pontuação",
    "generation": "génération generación generazione geração поколение 世代",
    "model": "模型",
    "time": "耗时 用时",
    "improvement": "Verbesserung amélioration mejora miglioramento улучшения 改善 향상 提升 改进 提高",
    "patience": "Geduld paciencia pazienza терпение 耐心",
}
_IN_ENGLISH = {word: name for name, words in _WORDS_OF_OTHERS.items() for word in words.lower().split()}
_ANY_OTHER = re.compile("|".join(sorted(_IN_ENGLISH, key=len, reverse=True)))
_OTHERS = re.compile(rf"(?:(?<![A-Za-z])|(?<=ings)|(?<=ungs))(?:{_ANY_OTHER.pattern})", re.IGNORECASE)
_NTH = re.compile(r"第\s?(\d+(?:\s?/\s?\d+)?)\s?[个次]?\s?(epoch|step|iteration)", re.IGNORECASE)
_NOUN_OF_NOUN = re.compile(r"\b(loss|accuracy) (?:de |di |da |d['’] ?|на )(?:la )?(\w+)")
_WIDE = str.maketrans("：，＝（）", ":,=()")


def in_english(text: str) -> str:
    """The line with the words of training in English, where it has them in another language.

    >>> in_english("第3轮 训练损失：0.5")
    'epoch 3 train loss:0.5'
    """
    if not (_ANY_OTHER.search(text.lower()) and _OTHERS.search(text)):  # the first look is a quick one
        return text
    text = _OTHERS.sub(lambda match: f" {_IN_ENGLISH[match[0].lower()]} ", text.translate(_WIDE))
    text = re.sub(r"(?<= ) +|^ +", "", _NTH.sub(r" \2 \1", re.sub(r"(?<= ) +", "", text)))
    return re.sub(r" +(?=[:=,]|$)", "", _NOUN_OF_NOUN.sub(r"\2 \1", text))


# Names of the step column of a table by rank, with what they count; compared without case, blanks and dots.
_COUNTED = {
    "step": "global_step global_steps global_iter global_iteration update_step optimizer_step num_updates"
    " n_updates total_train_updates current_steps effective_batch_number train_step training_step step steps"
    " time/total_timesteps iteration iterations"
    " training_iteration iter numiters update updates _step total_timesteps timesteps_total timesteps"
    " timestep timestepssofar t_env num_timesteps n_episode n_epi n_gen",
    "sample": "samples_count consumed_samples samples_trained_on samples",
    "token": "consumed_tokens tokens_seen tokens_processed tokens",
    "epoch": "epoch",
}
STEP_NAMES = tuple((name, counted) for counted, names in _COUNTED.items() for name in names.split())
# Names of counters that begin again in an epoch or launch and may mean other things: in tables, on a console.
_IN_EPOCH = "iters itr it batch batches minibatch mini_batch batch_idx batch_id batch_num i idx"
LAUNCH_NAMES = ("episode", "episodes", "game", "games", "generation", "generations", "gen", "round")
IN_EPOCH_NAMES = (*_IN_EPOCH.split(), *LAUNCH_NAMES)
_ON_CONSOLE = (
    "batch minibatch mini_batch batches batch_id batch_idx iters itr it i idx env_step env_steps episode"
    " generation generations gen game instance round cycle progress t"
)
CONSOLE_IN_EPOCH_NAMES = tuple(_ON_CONSOLE.split())
EPOCH_NAMES = ("epoch", "epochs", "ep", "epoch_num", "epoch_idx")  # all but the first may be a setting
_TIMES = "timestamp _timestamp wall_time walltime datetime date_time date time ts"
TIME_NAMES = tuple(_TIMES.split())
# Columns of a table that say to which metric, run or phase a row belongs.
METRIC_NAMES = ("metric", "title", "tag", "name", "metric_name", "key", "variable")
PART_NAMES = ("variant", "series")  # what a metric of this name is of, or which one of a title
VALUE_NAMES = ("value", "metric_value", "scalar")
ID_NAMES, RUN_NAMES = (
    ("run_id", "run_uuid", "run_hash"),
    ("run", "run_name", "run_id", "run_uuid", "run_hash"),
)
PHASE_NAMES = ("mode", "phase", "split", "stage", "subset", "context_subset")
# A DataFrame is made by hand and may have a metric of any other name: only plain words are its step.
FRAME_STEP_NAMES = ("step", "steps", "global_step", "_step", "iteration", "iter", "epoch")


@cached_by_object
def step_gap(series: Series) -> float:
    """Median distance of two logged points in steps (1 where there is nothing to measure)."""
    return median_gap(series.steps)


def median_gap(steps: Steps | Floats) -> float:
    """Median of the distances by which steps rise (1 where they never do)."""
    steps = np.asarray(steps, np.float64)
    gaps = steps[1:] - steps[:-1]  # `np.diff` takes ten times as long, on short rows
    rising = gaps[gaps > 0]
    return median(rising) if len(rising) else 1.0


# Syslog and glog write no year. Such a time is given as seconds within 1972.
UNNAMED_YEAR = 1972  # it has a 29 February, and no training ran in it
_FIRST_S, _END_S = 63_072_000.0, 94_694_400.0  # its first second, and the first of 1973


def has_year(time: float) -> bool:
    """Whether a time is a date, and not one of an unnamed year. NaN counts as a date."""
    return not _FIRST_S <= time < _END_S


def in_year_of(time: float, near: float) -> float:
    """A time of an unnamed year in the year that brings it next to ``near``; NaN where that is unknown."""
    if has_year(time) or math.isnan(time):
        return time
    if not math.isfinite(near):
        return math.nan
    month = 1 if datetime.fromtimestamp(time, UTC).month < 3 else 3  # from which on all years are alike
    begin, year = datetime(UNNAMED_YEAR, month, 1, tzinfo=UTC), datetime.fromtimestamp(near, UTC).year
    shifts = (begin.replace(year=each) - begin for each in (year - 1, year, year + 1))
    return min((time + shift.total_seconds() for shift in shifts), key=lambda dated: abs(dated - near))
