"""Classifiers with a covariance: PAM, AROW, CW, SCW and the second-order perceptron."""

from crossview.estimators.second_order.arow import AROWClassifier
from crossview.estimators.second_order.cw import ConfidenceWeightedClassifier
from crossview.estimators.second_order.pam import PAMClassifier
from crossview.estimators.second_order.scw import SoftConfidenceWeightedClassifier
from crossview.estimators.second_order.sop import SecondOrderPerceptron

__all__ = [
    "AROWClassifier",
    "ConfidenceWeightedClassifier",
    "PAMClassifier",
    "SecondOrderPerceptron",
    "SoftConfidenceWeightedClassifier",
]
