"""A model as ONNX: columns of a table in, label, probabilities and scores out.

Numbers are float64, but for sums of trees, which the operator for trees gives as float32.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crossview.errors import InputError, cannot_import
from crossview.exporting.plan import Plan
from crossview.exporting.vectorized.vectors import Operations, Vector, lower
from crossview.portable.encoding import Column
from crossview.portable.scoring import Trees
from crossview.tables.columns import LARGEST

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    raise cannot_import("ONNX", "onnx", error) from None

# of operators; those of runtimes from 2024 on
OPSET, OPSET_ML, IR = 21, 3, 10
ROWS = "rows"
MARK = "a model that Crossview exported"
# codes in a set; those from here on, and NaN, have rows of their own
CODES = 256
# a protocol buffer has at most as many bytes
MOST_BYTES = 2**31 - 1
_BINARY = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min"}
_BINARY |= {"less": "Less", "or": "Or", "and": "And"}
_UNARY = {"exp": "Exp", "log": "Log", "sin": "Sin", "floor": "Floor", "abs": "Abs"}
_UNARY |= {"not": "Not", "missing": "IsNaN"}


def onnx_model(plan: Plan) -> bytes:
    """Return the model as a file of ONNX, which `onnx.checker` has checked.

    Returns content: each column of the table is an input of shape (rows, 1): numbers are float64,
      NaN where they are missing; dates are seconds since 1970 in UTC; categories are strings, and
      "" is missing. A view of numbers is one input of all its columns, all NaN where it is
      missing.  Outputs are ``prediction``, ``scores``, ``probabilities`` and ``view_scores``, NaN
      where a view is missing; the metadata say which classes and views these are.
    Raises InputError: text is hashed, or the model is larger than 2 GB.
    """
    graph = _Graph()
    answers = lower(plan, graph)
    graph.output("prediction", answers.prediction)
    for name in ("scores", "probabilities", "view_scores"):
        found = getattr(answers, name)
        if found is not None:
            graph.output(name, found)
    about = {"classes": plan.model.classes, "views": plan.model.views}
    proto = graph.proto()
    if graph.n_bytes > MOST_BYTES:
        raise InputError("is larger than 2 GB, which a file of ONNX cannot be; export to .json")
    model = helper.make_model(
        proto,
        producer_name="crossview",
        doc_string=MARK,
        ir_version=IR,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", OPSET_ML)],
    )
    helper.set_model_props(model, {name: json.dumps(value) for name, value in about.items()})
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


class _Tensor:
    """A vector: its name, its width, and whether it is the same in all rows, with one row."""

    def __init__(self, name: str, width: int, *, is_constant: bool = False) -> None:
        self.name, self.width, self.is_constant = name, width, is_constant


# of what is true or false
_SPELLED = {
    "true": ["true", "True", "TRUE", "1", "1.0"],
    "false": ["false", "False", "FALSE", "0", "0.0"],
}


class _Category:
    """A column of categories: those that weigh anything, and tables of what they weigh."""

    def __init__(self, x: str, codes: str, *, is_truth: bool) -> None:
        self.x, self.codes, self.is_truth = x, codes, is_truth
        self.values: dict[str, None] = {}
        self.lookups: dict[str, tuple[Mapping[str, np.ndarray], np.ndarray]] = {}


class _Graph(Operations):
    """Vectors are tensors of shape (rows, width)."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.inputs: dict[str, Any] = {}
        self.outputs: list[Any] = []
        self.initializers: dict[bytes, Any] = {}
        self.n_bytes = 0
        self.columns: dict[tuple[str, str], _Category] = {}
        self.made: dict[tuple, str] = {}
        self.types: dict[str, Any] = {}

    def proto(self) -> Any:
        """Return the graph."""
        self._finish_categories()
        read = {name for node in self.nodes for name in node.input}  # runtimes warn of others
        tensors = [one for one in self.initializers.values() if one.name in read]
        return helper.make_graph(
            self.nodes, "crossview", list(self.inputs.values()), self.outputs, tensors
        )

    def output(self, name: str, a: Any) -> None:
        """Name a result."""
        self.nodes.append(helper.make_node("Identity", [self._rows(a)], [name]))
        kind = self.types.get(a.name, TensorProto.DOUBLE)
        shape = [ROWS] if a.width == 0 else [ROWS, a.width]
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def _node(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add a node; the same one is there once."""
        key = operator, tuple(inputs), repr(sorted(attributes.items()))
        if operator == "TreeEnsembleRegressor" or key not in self.made:
            name = f"t{len(self.nodes)}"
            domain = "ai.onnx.ml" if operator in ("LabelEncoder", "TreeEnsembleRegressor") else ""
            self.nodes.append(
                helper.make_node(operator, list(inputs), [name], domain=domain, **attributes)
            )
            self.made[key] = name
        return self.made[key]

    def _array(self, array: np.ndarray) -> str:
        """Return the name of an array of constants."""
        array = np.ascontiguousarray(array)
        key = repr((array.dtype.str, array.shape)).encode() + array.tobytes()
        if key not in self.initializers:
            name = f"k{len(self.initializers)}"
            self.initializers[key] = numpy_helper.from_array(array, name)
            self.n_bytes += array.nbytes
        return str(self.initializers[key].name)

    def _input(self, name: str, kind: int, width: int) -> str:
        if name not in self.inputs:
            self.inputs[name] = helper.make_tensor_value_info(name, kind, [ROWS, width])
        return name

    def _rows(self, a: _Tensor) -> str:
        """Return the name of a tensor with all rows."""
        if not a.is_constant:
            return a.name
        if not self.inputs:
            raise InputError("has learned no column")
        shape = self._node("Shape", [next(iter(self.inputs))], start=0, end=1)
        rest = self._array(np.array([a.width] if a.width else [], dtype=np.int64))
        return self._node("Expand", [a.name, self._node("Concat", [shape, rest], axis=0)])

    # --- inputs ------------------------------------------------------------------------------

    def number(self, column: Column) -> Vector:
        return self._sound(column.name, 1)

    def seconds(self, column: Column) -> Vector:
        return self.number(column)

    def category(self, column: Column, values: Sequence[str]) -> tuple[Any, Vector]:
        x = self._input(column.name, TensorProto.STRING, 1)
        key = "category", column.name
        if key not in self.columns:
            codes, is_truth = f"codes{len(self.columns)}", bool(column.boolean)
            self.columns[key] = _Category(x, codes, is_truth=is_truth)
        is_missing = self._node("Cast", [self._encoded(x, [""], [1], 0)], to=TensorProto.BOOL)
        return self.columns[key], _Tensor(is_missing, 1)

    def _encoded(self, x: str, keys: list[str], values: list[int], default: int) -> str:
        return self._node(
            "LabelEncoder", [x], keys_strings=keys, values_int64s=values, default_int64=default
        )

    def view(self, name: str, width: int) -> Vector:
        return self._sound(name, width)

    def _sound(self, name: str, width: int) -> Vector:
        """Return an input of numbers, NaN where they are too large."""
        x = _Tensor(self._input(name, TensorProto.DOUBLE, width), width)
        is_large = self.binary("less", self.constant([LARGEST]), self.unary("abs", x))
        return self.where(is_large, self.constant([math.nan]), x)

    def lookup(self, category: Any, rows: Mapping[str, np.ndarray], default: np.ndarray) -> Vector:
        table = f"weights{sum(len(one.lookups) for one in self.columns.values())}"
        category.lookups[table] = rows, default
        category.values |= dict.fromkeys(value for value in rows if value)
        found = self._node("Gather", [table, category.codes], axis=0)
        return _Tensor(found, len(default))

    def _finish_categories(self) -> None:
        """Encode the categories that weigh anything, and write what they weigh."""
        for one in self.columns.values():
            if not one.lookups:
                continue
            known = list(one.values) or ["\0"]
            spelled = _SPELLED if one.is_truth else {}
            keys = [(text, i) for i, v in enumerate(known) for text in spelled.get(v, [v])]
            encoder = helper.make_node(
                "LabelEncoder",
                [one.x],
                [f"{one.codes}_column"],
                domain="ai.onnx.ml",
                keys_strings=[text for text, _ in keys],
                values_int64s=[i for _, i in keys],
                default_int64=len(known),
            )
            shape = self._array(np.array([-1]))
            flat = helper.make_node("Reshape", [f"{one.codes}_column", shape], [one.codes])
            self.nodes[:0] = [encoder, flat]
            for name, (rows, default) in one.lookups.items():
                each = [*(rows.get(value, default) for value in known), default]
                table = np.array(each, dtype=np.float64)
                self.initializers[name.encode()] = numpy_helper.from_array(table, name)
                self.n_bytes += table.nbytes

    def _row(self, code: str, table: np.ndarray) -> Vector:
        found = self._node("Gather", [self._array(table), code], axis=0)
        return _Tensor(found, table.shape[1])

    # --- arithmetic --------------------------------------------------------------------------

    def constant(self, values: Any) -> Vector:
        array = np.asarray(values).reshape(1, -1)
        if array.dtype != bool:
            array = array.astype(np.float64)
        return _Tensor(self._array(array), array.shape[1], is_constant=True)

    def width(self, a: Vector) -> int:
        return int(a.width)

    def binary(self, operation: str, a: Vector, b: Vector) -> Vector:
        made = self._node(_BINARY[operation], [a.name, b.name])
        return _Tensor(made, max(a.width, b.width), is_constant=a.is_constant and b.is_constant)

    def unary(self, operation: str, a: Vector) -> Vector:
        made = self._node(_UNARY[operation], [a.name])
        return _Tensor(made, a.width, is_constant=a.is_constant)

    def where(self, condition: Vector, a: Vector, b: Vector) -> Vector:
        three = (condition, a, b)
        made = self._node("Where", [one.name for one in three])
        is_constant = all(one.is_constant for one in three)
        return _Tensor(made, max(one.width for one in three), is_constant=is_constant)

    def join(self, parts: Sequence[Vector]) -> Vector:
        if len(parts) == 1:
            return parts[0]
        is_constant = all(one.is_constant for one in parts)
        names = [one.name if is_constant else self._rows(one) for one in parts]
        width = sum(one.width for one in parts)
        return _Tensor(self._node("Concat", names, axis=1), width, is_constant=is_constant)

    def take(self, a: Vector, positions: Sequence[int]) -> Vector:
        chosen = list(positions)
        if chosen == list(range(a.width)):
            return a
        at = self._array(np.array(chosen, dtype=np.int64))
        made = self._node("Gather", [a.name, at], axis=1)
        return _Tensor(made, len(chosen), is_constant=a.is_constant)

    def matmul(self, a: Vector, weights: np.ndarray) -> Vector:
        weights = np.asarray(weights, dtype=np.float64)
        made = self._node("MatMul", [a.name, self._array(weights)])
        return _Tensor(made, weights.shape[1], is_constant=a.is_constant)

    def largest(self, a: Vector) -> Vector:
        made = self._node("ReduceMax", [a.name, self._array(np.array([1]))], keepdims=1)
        return _Tensor(made, 1, is_constant=a.is_constant)

    def any(self, a: Vector) -> Vector:
        numbers = self._node("Cast", [a.name], to=TensorProto.DOUBLE)
        top = self.largest(_Tensor(numbers, a.width, is_constant=a.is_constant))
        return self.binary("less", self.constant([0.5]), top)

    def label(self, index: Vector, classes: Sequence[Any]) -> Any:
        at = self._node("Cast", [index.name], to=TensorProto.INT64)
        flat = self._node("Reshape", [at, self._array(np.array([-1]))])
        kind = {str: TensorProto.STRING, bool: TensorProto.BOOL, int: TensorProto.INT64}.get(
            type(classes[0]), TensorProto.DOUBLE
        )
        array = np.array(classes, dtype=object if isinstance(classes[0], str) else None)
        found = self._node("Gather", [self._array_of_labels(array), flat], axis=0)
        self.types[found] = kind
        return _Tensor(found, 0, is_constant=index.is_constant)

    def _array_of_labels(self, array: np.ndarray) -> str:
        if array.dtype != object:
            return self._array(array)
        tensor = helper.make_tensor("classes", TensorProto.STRING, array.shape, array.tolist())
        self.initializers[b"classes"] = tensor
        return "classes"

    # --- trees -------------------------------------------------------------------------------

    def trees(self, features: Vector, trees: Trees, outputs: np.ndarray, width: int) -> Vector:
        if not len(trees.roots):
            return self.constant(np.zeros(width))
        features, at = self._with_sets(features, trees)
        known: dict[str, list[Any]] = {name: [] for name in _NODES}
        leaves: dict[str, list[Any]] = {"treeids": [], "nodeids": [], "ids": [], "weights": []}
        for t, root in enumerate(trees.roots.tolist()):
            stack, ids = [root], {root: 0}
            while stack:
                node = stack.pop()
                left, right = int(trees.left[node]), int(trees.right[node])
                for child in (left, right) if left else ():
                    ids[child] = len(ids)
                    stack.append(child)
                feature, threshold = at.get(node, (int(trees.feature[node]), None))
                limit = trees.threshold[node] if threshold is None else threshold
                row = {
                    "treeids": t,
                    "nodeids": ids[node],
                    "featureids": feature if left else 0,
                    "modes": "BRANCH_LEQ" if left else "LEAF",
                    "values": float(limit) if left else 0.0,
                    "truenodeids": ids[left] if left else 0,
                    "falsenodeids": ids[right] if left else 0,
                    "missing_value_tracks_true": int(trees.missing_left[node]) if left else 0,
                }
                for name, value in row.items():
                    known[name].append(value)
                for e in range(int(trees.ends[node - 1]) if node else 0, int(trees.ends[node])):
                    leaf = {"treeids": t, "nodeids": ids[node], "ids": int(outputs[e])}
                    for name, value in {**leaf, "weights": float(trees.values[e])}.items():
                        leaves[name].append(value)
        made = self._node(
            "TreeEnsembleRegressor",
            [self._rows(features)],
            n_targets=width,
            aggregate_function="SUM",
            post_transform="NONE",
            nodes_values_as_tensor=_doubles("values", known.pop("values")),
            target_weights_as_tensor=_doubles("weights", leaves.pop("weights")),
            **{f"nodes_{name}": value for name, value in known.items()},
            **{f"target_{name}": value for name, value in leaves.items()},
        )
        return _Tensor(self._node("Cast", [made], to=TensorProto.DOUBLE), width)

    def _with_sets(self, features: Vector, trees: Trees) -> tuple[Vector, dict[int, Any]]:
        """Return features with one for each set, 0 to the left, and where those of nodes are."""
        nodes = np.flatnonzero((trees.left != 0) & (trees.set_of != 0)).tolist()
        by_feature: dict[int, list[int]] = {}
        for node in nodes:
            by_feature.setdefault(int(trees.feature[node]), []).append(node)
        parts, at, place = [features], {}, features.width
        for feature, own in by_feature.items():
            table = np.ones((CODES + 2, len(own)))
            for k, node in enumerate(own):
                bits = trees.sets[trees.set_of[node]]
                codes = np.arange(CODES)
                table[:CODES, k] = 1 - (bits[codes >> 5].astype(np.int64) >> (codes & 31) & 1)
                table[CODES:, k] = 1 - int(trees.missing_left[node])
                at[node] = place + k, 0.5
            place += len(own)
            x = self.take(features, [feature])
            top = self.binary("min", x, self.constant([float(CODES)]))
            code = self.where(self.unary("missing", x), self.constant([CODES + 1.0]), top)
            whole = self._node("Cast", [self._rows(code)], to=TensorProto.INT64)
            flat = self._node("Reshape", [whole, self._array(np.array([-1]))])
            parts.append(self._row(flat, table))
        return self.join(parts), at


# attributes of the nodes of trees, one entry per node
_NODES = (
    *("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids"),
    "missing_value_tracks_true",
)


def _doubles(name: str, values: Sequence[float]) -> Any:
    return numpy_helper.from_array(np.array(values, dtype=np.float64), name)
