# Written by `python -m crossview.catalog`: the public names, for type checkers.

from crossview.errors import InputError as InputError
from crossview.errors import LabelOrderWarning as LabelOrderWarning
from crossview.estimators.coupled import MultiViewPAClassifier as MultiViewPAClassifier
from crossview.estimators.kernel.keco import KeCoClassifier as KeCoClassifier
from crossview.estimators.kernel.pegasos import PegasosClassifier as PegasosClassifier
from crossview.estimators.kernel.search import KernelSearchCV as KernelSearchCV
from crossview.estimators.linear import PassiveAggressiveClassifier as PassiveAggressiveClassifier
from crossview.estimators.linear import Perceptron as Perceptron
from crossview.estimators.machines.factorization_machine import FactorizationMachineClassifier as FactorizationMachineClassifier
from crossview.estimators.machines.factorization_machine import FactorizationMachineRegressor as FactorizationMachineRegressor
from crossview.estimators.machines.multi_view_machine import MultiViewMachineClassifier as MultiViewMachineClassifier
from crossview.estimators.machines.multi_view_machine import MultiViewMachineRegressor as MultiViewMachineRegressor
from crossview.estimators.machines.support_tensor_machine import SupportTensorMachineClassifier as SupportTensorMachineClassifier
from crossview.estimators.second_order.arow import AROWClassifier as AROWClassifier
from crossview.estimators.second_order.cw import ConfidenceWeightedClassifier as ConfidenceWeightedClassifier
from crossview.estimators.second_order.pam import PAMClassifier as PAMClassifier
from crossview.estimators.second_order.scw import SoftConfidenceWeightedClassifier as SoftConfidenceWeightedClassifier
from crossview.estimators.second_order.sop import SecondOrderPerceptron as SecondOrderPerceptron
from crossview.estimators.stacking.classifier import OnlineStackingClassifier as OnlineStackingClassifier
from crossview.estimators.stacking.regressor import OnlineStackingRegressor as OnlineStackingRegressor
from crossview.estimators.svm.classifier import MultiViewSVMPerf as MultiViewSVMPerf
from crossview.estimators.svm.measure import Measure as Measure
from crossview.evaluation.compare import compare as compare
from crossview.evaluation.convert import convert as convert
from crossview.evaluation.describe import describe as describe
from crossview.evaluation.evaluate import evaluate as evaluate
from crossview.evaluation.predict import predict as predict
from crossview.evaluation.progressive import progressive as progressive
from crossview.evaluation.train import train as train
from crossview.evaluation.weights import weights as weights
from crossview.merging import merge as merge
from crossview.persistence import load as load
from crossview.persistence import save as save
from crossview.streams.encode import ViewEncoder as ViewEncoder
from crossview.streams.join import join_tables as join_tables
from crossview.streams.load_rows import load_libffm as load_libffm
from crossview.streams.load_rows import load_svmlight as load_svmlight
from crossview.streams.load_rows import load_vw as load_vw
from crossview.streams.rows import open_rows as open_rows
from crossview.streams.table import open_table as open_table
from crossview.streams.view_reader import ViewReader as ViewReader
from crossview.streams.view_scaler import ViewScaler as ViewScaler
from crossview.views import MultiView as MultiView
from crossview.views import ViewLayout as ViewLayout

__version__: str
