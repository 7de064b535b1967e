//! Codes of the config check.

use crate::judge::rule::rules;

rules! {
    CheckId::Config;

    /// A member cannot be read.
    MEMBER_DAMAGED = "pack-member-damaged", Incomplete absence;
    /// A member was refused: it leads out of the archive, is a link, or is encrypted.
    MEMBER_REFUSED = "pack-member-refused", Incomplete absence;
    /// A member lies in a checker's folder where none belongs.
    MEMBER_MISPLACED = "pack-member-misplaced", Incomplete absence;
    /// More members have a fault that is listed for the first ones.
    MEMBERS_UNLISTED = "pack-members-unlisted", Incomplete absence;
    /// Members that belong to nothing known.
    MEMBER_UNKNOWN = "pack-member-unknown", Info;
    /// A member occurs more than once: two runs wrote into one file.
    MEMBER_REPEATED = "pack-member-repeated", Incomplete;
    /// Steps of a second run follow those of a first one.
    MIXES_RUNS = "pack-mixes-runs", Incomplete;
    /// A record lacks a key or holds a value of the wrong type.
    RECORD_MALFORMED = "pack-record-malformed", Incomplete absence;
    /// Only one pack holds the checker.
    CHECKER_ONE_SIDED = "checker-one-sided", Incomplete absence;
    /// The policy expects the checker, and neither pack holds it.
    CHECKER_MISSING = "checker-missing", Incomplete absence;
    /// A pack does not start at step 0.
    NO_FIRST_STEP = "pack-no-first-step", Incomplete;
    /// The packs hold other steps.
    STEPS_DIFFER = "pack-steps-differ", Incomplete;
    /// The packs hold other ranks.
    RANKS_DIFFER = "pack-ranks-differ", Incomplete;
    /// A side's pack contradicts the kind of device it is declared to have run on.
    DEVICE_DIFFERS = "device-differs", Fail;
    /// The baseline's pack is of an NPU and the candidate's of a GPU.
    SIDES_SWAPPED = "sides-swapped", Warn;
    /// The content of a data or weight file differs.
    DIGEST_DIFFERS = "digest-differs", Fail;
    /// A data or weight file is recorded on one side only.
    DIGEST_ONE_SIDED = "digest-one-sided", Warn;

    /// A pair of variables that mean the same on both devices differs.
    ENV_PAIR_DIFFERS = "env-pair-differs", Warn;
    /// The number of visible devices differs.
    ENV_DEVICE_COUNT = "env-device-count-differs", Warn;
    /// The number of devices is the same, their list differs.
    ENV_DEVICE_LIST = "env-device-list-differs", Info;
    /// The collective algorithm is set on one platform, where the other has names of its own.
    ENV_PLATFORM_ONLY = "env-platform-only", Info;
    /// A variable on the watch list differs.
    ENV_WATCHED_DIFFERS = "env-watched-differs", Warn;
    /// A variable does not have the value the policy requires.
    ENV_REQUIRED_VALUE = "env-required-value", Fail;
    /// `PYTHONHASHSEED` is not fixed.
    HASH_SEED = "determinism-hash-seed", Info;
    /// Deterministic collectives are not switched on.
    COLLECTIVES = "determinism-collectives", Info;
    /// INF/NaN mode is not switched on.
    INF_NAN_MODE = "determinism-inf-nan-mode", Info;
    /// The cuBLAS workspace is not fixed.
    CUBLAS_WORKSPACE = "determinism-cublas-workspace", Info;
    /// A run without a baseline draws other random numbers each time: a variable, switch or seed is not set.
    DETERMINISM_OFF = "determinism-off", Warn;
    /// A pack does not hold cuDNN flags and deterministic algorithms.
    NOT_IN_PACK = "determinism-not-in-pack", Info;

    /// A key package has another version.
    PIP_VERSION_DIFFERS = "pip-version-differs", Fail;
    /// A key package is installed on one side only.
    PIP_PACKAGE_MISSING = "pip-package-missing", Fail;
    /// A rule of the policy is broken.
    PIP_RULE_BROKEN = "pip-rule-broken", Fail;
    /// `torch_npu` was built for another `torch`.
    PIP_TORCH_NPU = "pip-torch-npu-mismatch", Warn;
    /// Other packages have other versions.
    PIP_OTHERS_DIFFER = "pip-others-differ", Warn;
    /// Other packages are installed on one side only.
    PIP_OTHERS_ONE_SIDED = "pip-others-one-sided", Warn;
    /// A package is listed twice with other versions.
    PIP_REPEATED = "pip-repeated", Warn;
    /// Differences that belong to the device.
    PIP_EXPECTED = "pip-expected-differences", Info;

    /// An input's statistics differ.
    DATASET_DIFFERS = "dataset-differs", Fail;
    /// An input is a tensor on one side and something else on the other.
    DATASET_KIND = "dataset-kind-differs", Fail;
    /// An input is there on one side only.
    DATASET_ONE_SIDED = "dataset-one-sided", Fail;
    /// An input is NaN or infinite on both sides.
    DATASET_NON_FINITE = "dataset-non-finite", Warn;
    /// Statistics differ by no more than the noise of their own computation.
    DATASET_WITHIN = "dataset-within-tolerance", Info;
    /// Statistics cannot see the order of samples.
    DATASET_ORDER = "dataset-order-unseen", Info;

    /// Parameters differ at step 0.
    WEIGHTS_DIFFER = "weights-differ", Fail;
    /// Parameters were rounded to a 16-bit type on one side.
    WEIGHTS_PRECISION = "weights-precision-differs", Warn;
    /// A few parameters differ by little where nearly all others are bit-equal.
    WEIGHTS_NEARLY = "weights-nearly-equal", Warn;
    /// Parameters differ by no more than the noise of their statistics.
    WEIGHTS_WITHIN = "weights-within-tolerance", Info;
    /// Parameters that only one side has.
    WEIGHTS_ONE_SIDED = "weights-one-sided", Fail;
    /// A parameter is NaN or infinite on one side.
    WEIGHTS_BROKE = "weights-non-finite-one-sided", Fail;
    /// A parameter is NaN or infinite on both sides.
    WEIGHTS_NON_FINITE = "weights-non-finite", Warn;
    /// Trained parameters differ at later steps; the distance is shown.
    WEIGHTS_DRIFT = "weights-drift", Info;

    /// A setting differs.
    HYPER_DIFFERS = "hyperparameter-differs", Fail;
    /// A path differs; what lies there is not known.
    HYPER_PATH = "hyperparameter-path-differs", Warn;
    /// Settings that only one side has.
    HYPER_ONE_SIDED = "hyperparameter-one-sided", Warn;
    /// Settings of the machine, not of the training, differ.
    HYPER_MACHINE = "hyperparameter-machine-differs", Info;
    /// Settings differ in words that mean the same on another device.
    HYPER_EQUIVALENT = "hyperparameter-equivalent", Info;
    /// One side's own files disagree.
    HYPER_CONTRADICTS = "hyperparameter-contradicts", Warn;
    /// Settings were collected another way on each side.
    HYPER_SOURCE = "hyperparameter-source-differs", Incomplete;
    /// Dropout is on, or the settings do not show it.
    DROPOUT = "determinism-dropout", Info;

    /// No call of a random function was recorded.
    RANDOM_EMPTY = "random-empty", Incomplete absence;
    /// A call is made another number of times.
    RANDOM_COUNT = "random-count-differs", Fail;
    /// Calls that only one side makes.
    RANDOM_UNMATCHED = "random-unmatched", Warn;
    /// A call's source line was rewritten.
    RANDOM_REWRITTEN = "random-line-rewritten", Info;
    /// Seeds in variables differ.
    SEED_DIFFERS = "seed-differs", Warn;
    /// No call that sets a seed was recorded.
    SEED_NOT_SEEN = "seed-call-not-seen", Warn;
    /// `seed_all` fixes a run's randomness, of which a pack shows only a part.
    SEED_ALL = "determinism-seed-all", Info;
}
