"""The compiled loops, and for how many types each may be compiled."""

import sys

# machines have single precision with AdaGrad, and double with all else
LOOPS = {
    "crossview.algorithms.online.one_view_pass": 2,
    "crossview.algorithms.online.euclidean_pass": 2,
    "crossview.algorithms.online.covariance_pass": 1,
    "crossview.algorithms.calibration.calibrate_two": 1,
    "crossview.algorithms.calibration.calibrate_several": 1,
    "crossview.algorithms.calibration.calibrate_experts": 1,
    "crossview.algorithms.calibration.probability_pass": 1,
    "crossview.algorithms.joint_scores.joint_pass": 1,
    "crossview.algorithms.machines.contributions.contribution_pass": 2,
    "crossview.algorithms.machines.online.learning_pass": 2,
    "crossview.algorithms.machines.scores.scoring_pass": 2,
    "crossview.algorithms.kernel.gram.gram_pass": 1,
    "crossview.algorithms.kernel.stream.stream_pass": 1,
    "crossview.algorithms.kernel.explicit.explicit_pass": 1,
    "crossview.algorithms.newton.following_pass": 1,
    "crossview.algorithms.newton.learning_pass": 1,
    "crossview.algorithms.newton.scoring_pass": 1,
    "crossview.algorithms.network.adam_step": 1,
    "crossview.algorithms.network.score_changed": 1,
    "crossview.algorithms.network.score_rows": 1,
    "crossview.algorithms.performance.monotone.monotone_argmax": 1,
    "crossview.algorithms.performance.program.solve_program": 1,
    "crossview.algorithms.stacking.numbers.learning_pass": 1,
    "crossview.algorithms.stacking.several_classes.learning_pass": 1,
    "crossview.algorithms.stacking.stream_memory.combining_pass": 1,
    "crossview.algorithms.stacking.two_classes.learning_pass": 1,
    "crossview.algorithms.trees.scores.score_rows": 1,
    "crossview.algorithms.trees.scores.score_without": 1,
    "crossview.kernels.gram.products": 1,
    "crossview.kernels.text.libffm.parse_libffm": 1,
    "crossview.kernels.text.names.hash_names": 1,
    "crossview.kernels.text.svmlight.parse_svmlight": 1,
    "crossview.kernels.text.vw.parse_vw": 1,
    "crossview.kernels.row_hashes.hash_cells": 1,
    "crossview.kernels.row_hashes.hash_entries": 1,
    "crossview.kernels.rows.score_views": 1,
    "crossview.encoding.statistics.weigh_rows": 1,
    "crossview.encoding.rows.fill.fill_rows": 1,
    "crossview.encoding.statistics.standardize_rows": 1,
    "crossview.encoding.view_scaler.scale_rows": 1,
}


def signatures(loop):
    """The types that this process has compiled a loop for; none where it was not imported."""
    module, _, name = loop.rpartition(".")
    if module not in sys.modules:
        return []
    # without the compiler a loop is a plain function
    return [str(types) for types in getattr(getattr(sys.modules[module], name), "signatures", [])]
