from google.protobuf import struct_pb2 as _struct_pb2
from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LabelSign(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LABEL_SIGN_UNSPECIFIED: _ClassVar[LabelSign]
    LABEL_SIGN_IN: _ClassVar[LabelSign]
    LABEL_SIGN_EXISTS: _ClassVar[LabelSign]
    LABEL_SIGN_LESS: _ClassVar[LabelSign]
    LABEL_SIGN_AT_MOST: _ClassVar[LabelSign]
    LABEL_SIGN_GREATER: _ClassVar[LabelSign]
    LABEL_SIGN_AT_LEAST: _ClassVar[LabelSign]

class By(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BY_UNSPECIFIED: _ClassVar[By]
    BY_DESIGN: _ClassVar[By]
    BY_FAMILY: _ClassVar[By]
    BY_TRUNK: _ClassVar[By]
    BY_COPY: _ClassVar[By]
    BY_ORIGIN: _ClassVar[By]

class Part(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PART_UNSPECIFIED: _ClassVar[Part]
    PART_RESEMBLANCE: _ClassVar[Part]
    PART_FAMILY: _ClassVar[Part]
    PART_TRUNK: _ClassVar[Part]
    PART_PART_OF: _ClassVar[Part]
    PART_BODIES: _ClassVar[Part]
    PART_SHARED: _ClassVar[Part]
    PART_CHANGES: _ClassVar[Part]
    PART_COVERAGE: _ClassVar[Part]
    PART_CARD: _ClassVar[Part]

class Counted(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COUNTED_UNSPECIFIED: _ClassVar[Counted]
    COUNTED_HITS: _ClassVar[Counted]
    COUNTED_NETWORKS: _ClassVar[Counted]
LABEL_SIGN_UNSPECIFIED: LabelSign
LABEL_SIGN_IN: LabelSign
LABEL_SIGN_EXISTS: LabelSign
LABEL_SIGN_LESS: LabelSign
LABEL_SIGN_AT_MOST: LabelSign
LABEL_SIGN_GREATER: LabelSign
LABEL_SIGN_AT_LEAST: LabelSign
BY_UNSPECIFIED: By
BY_DESIGN: By
BY_FAMILY: By
BY_TRUNK: By
BY_COPY: By
BY_ORIGIN: By
PART_UNSPECIFIED: Part
PART_RESEMBLANCE: Part
PART_FAMILY: Part
PART_TRUNK: Part
PART_PART_OF: Part
PART_BODIES: Part
PART_SHARED: Part
PART_CHANGES: Part
PART_COVERAGE: Part
PART_CARD: Part
COUNTED_UNSPECIFIED: Counted
COUNTED_HITS: Counted
COUNTED_NETWORKS: Counted

class Graph(_message.Message):
    __slots__ = ("operators", "nodes", "edge_index", "attribute_names", "attributes", "parameters", "flops")
    OPERATORS_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    EDGE_INDEX_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTE_NAMES_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    FLOPS_FIELD_NUMBER: _ClassVar[int]
    operators: _containers.RepeatedScalarFieldContainer[str]
    nodes: _containers.RepeatedScalarFieldContainer[int]
    edge_index: EdgeIndex
    attribute_names: _containers.RepeatedScalarFieldContainer[str]
    attributes: _containers.RepeatedScalarFieldContainer[int]
    parameters: int
    flops: int
    def __init__(self, operators: _Optional[_Iterable[str]] = ..., nodes: _Optional[_Iterable[int]] = ..., edge_index: _Optional[_Union[EdgeIndex, _Mapping]] = ..., attribute_names: _Optional[_Iterable[str]] = ..., attributes: _Optional[_Iterable[int]] = ..., parameters: _Optional[int] = ..., flops: _Optional[int] = ...) -> None: ...

class EdgeIndex(_message.Message):
    __slots__ = ("sources", "targets")
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedScalarFieldContainer[int]
    targets: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, sources: _Optional[_Iterable[int]] = ..., targets: _Optional[_Iterable[int]] = ...) -> None: ...

class Vector(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, values: _Optional[_Iterable[float]] = ...) -> None: ...

class Range(_message.Message):
    __slots__ = ("minimum", "maximum")
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    minimum: int
    maximum: int
    def __init__(self, minimum: _Optional[int] = ..., maximum: _Optional[int] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("names", "sources", "libraries", "families", "blocks", "tasks", "tiers", "topologies", "exacts", "inferences", "kinds", "norms", "activations", "mlps", "attentions", "positions", "parameters", "flops", "nodes", "all_of", "any_of", "none_of", "labels", "where")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    LIBRARIES_FIELD_NUMBER: _ClassVar[int]
    FAMILIES_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    TIERS_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGIES_FIELD_NUMBER: _ClassVar[int]
    EXACTS_FIELD_NUMBER: _ClassVar[int]
    INFERENCES_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    NORMS_FIELD_NUMBER: _ClassVar[int]
    ACTIVATIONS_FIELD_NUMBER: _ClassVar[int]
    MLPS_FIELD_NUMBER: _ClassVar[int]
    ATTENTIONS_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    FLOPS_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    ALL_OF_FIELD_NUMBER: _ClassVar[int]
    ANY_OF_FIELD_NUMBER: _ClassVar[int]
    NONE_OF_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    sources: _containers.RepeatedScalarFieldContainer[str]
    libraries: _containers.RepeatedScalarFieldContainer[str]
    families: _containers.RepeatedScalarFieldContainer[str]
    blocks: _containers.RepeatedScalarFieldContainer[str]
    tasks: _containers.RepeatedScalarFieldContainer[str]
    tiers: _containers.RepeatedScalarFieldContainer[str]
    topologies: _containers.RepeatedScalarFieldContainer[str]
    exacts: _containers.RepeatedScalarFieldContainer[str]
    inferences: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    norms: _containers.RepeatedScalarFieldContainer[str]
    activations: _containers.RepeatedScalarFieldContainer[str]
    mlps: _containers.RepeatedScalarFieldContainer[str]
    attentions: _containers.RepeatedScalarFieldContainer[str]
    positions: _containers.RepeatedScalarFieldContainer[str]
    parameters: Range
    flops: Range
    nodes: Range
    all_of: _containers.RepeatedCompositeFieldContainer[Filter]
    any_of: _containers.RepeatedCompositeFieldContainer[Filter]
    none_of: _containers.RepeatedCompositeFieldContainer[Filter]
    labels: _containers.RepeatedCompositeFieldContainer[LabelCondition]
    where: str
    def __init__(self, names: _Optional[_Iterable[str]] = ..., sources: _Optional[_Iterable[str]] = ..., libraries: _Optional[_Iterable[str]] = ..., families: _Optional[_Iterable[str]] = ..., blocks: _Optional[_Iterable[str]] = ..., tasks: _Optional[_Iterable[str]] = ..., tiers: _Optional[_Iterable[str]] = ..., topologies: _Optional[_Iterable[str]] = ..., exacts: _Optional[_Iterable[str]] = ..., inferences: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[str]] = ..., norms: _Optional[_Iterable[str]] = ..., activations: _Optional[_Iterable[str]] = ..., mlps: _Optional[_Iterable[str]] = ..., attentions: _Optional[_Iterable[str]] = ..., positions: _Optional[_Iterable[str]] = ..., parameters: _Optional[_Union[Range, _Mapping]] = ..., flops: _Optional[_Union[Range, _Mapping]] = ..., nodes: _Optional[_Union[Range, _Mapping]] = ..., all_of: _Optional[_Iterable[_Union[Filter, _Mapping]]] = ..., any_of: _Optional[_Iterable[_Union[Filter, _Mapping]]] = ..., none_of: _Optional[_Iterable[_Union[Filter, _Mapping]]] = ..., labels: _Optional[_Iterable[_Union[LabelCondition, _Mapping]]] = ..., where: _Optional[str] = ...) -> None: ...

class LabelCondition(_message.Message):
    __slots__ = ("key", "sign", "values")
    KEY_FIELD_NUMBER: _ClassVar[int]
    SIGN_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    key: str
    sign: LabelSign
    values: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    def __init__(self, key: _Optional[str] = ..., sign: _Optional[_Union[LabelSign, str]] = ..., values: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ...) -> None: ...

class Query(_message.Message):
    __slots__ = ("graph", "architecture", "vector", "top_k", "filter", "by", "parts", "parts_if_new", "assumed", "counted", "unread")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    PARTS_IF_NEW_FIELD_NUMBER: _ClassVar[int]
    ASSUMED_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    UNREAD_FIELD_NUMBER: _ClassVar[int]
    graph: Graph
    architecture: str
    vector: Vector
    top_k: int
    filter: Filter
    by: By
    parts: _containers.RepeatedScalarFieldContainer[Part]
    parts_if_new: _containers.RepeatedScalarFieldContainer[Part]
    assumed: Assumed
    counted: Counted
    unread: Unread
    def __init__(self, graph: _Optional[_Union[Graph, _Mapping]] = ..., architecture: _Optional[str] = ..., vector: _Optional[_Union[Vector, _Mapping]] = ..., top_k: _Optional[int] = ..., filter: _Optional[_Union[Filter, _Mapping]] = ..., by: _Optional[_Union[By, str]] = ..., parts: _Optional[_Iterable[_Union[Part, str]]] = ..., parts_if_new: _Optional[_Iterable[_Union[Part, str]]] = ..., assumed: _Optional[_Union[Assumed, _Mapping]] = ..., counted: _Optional[_Union[Counted, str]] = ..., unread: _Optional[_Union[Unread, _Mapping]] = ...) -> None: ...

class Unread(_message.Message):
    __slots__ = ("unknown", "operators", "cut", "lost", "parameters", "facts", "without")
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    OPERATORS_FIELD_NUMBER: _ClassVar[int]
    CUT_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_FIELD_NUMBER: _ClassVar[int]
    unknown: _containers.RepeatedCompositeFieldContainer[Count]
    operators: int
    cut: _containers.RepeatedCompositeFieldContainer[Count]
    lost: int
    parameters: int
    facts: _containers.RepeatedCompositeFieldContainer[Count]
    without: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, unknown: _Optional[_Iterable[_Union[Count, _Mapping]]] = ..., operators: _Optional[int] = ..., cut: _Optional[_Iterable[_Union[Count, _Mapping]]] = ..., lost: _Optional[int] = ..., parameters: _Optional[int] = ..., facts: _Optional[_Iterable[_Union[Count, _Mapping]]] = ..., without: _Optional[_Iterable[str]] = ...) -> None: ...

class Count(_message.Message):
    __slots__ = ("name", "times")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    name: str
    times: int
    def __init__(self, name: _Optional[str] = ..., times: _Optional[int] = ...) -> None: ...

class Assumed(_message.Message):
    __slots__ = ("inputs", "weights_reached", "sizes_matter", "is_sure", "doubts", "values", "stand_ins", "skipped", "notes")
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_REACHED_FIELD_NUMBER: _ClassVar[int]
    SIZES_MATTER_FIELD_NUMBER: _ClassVar[int]
    IS_SURE_FIELD_NUMBER: _ClassVar[int]
    DOUBTS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    STAND_INS_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedScalarFieldContainer[str]
    weights_reached: float
    sizes_matter: bool
    is_sure: bool
    doubts: _containers.RepeatedScalarFieldContainer[str]
    values: _containers.RepeatedCompositeFieldContainer[AssumedValue]
    stand_ins: _containers.RepeatedScalarFieldContainer[str]
    skipped: _containers.RepeatedScalarFieldContainer[str]
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, inputs: _Optional[_Iterable[str]] = ..., weights_reached: _Optional[float] = ..., sizes_matter: _Optional[bool] = ..., is_sure: _Optional[bool] = ..., doubts: _Optional[_Iterable[str]] = ..., values: _Optional[_Iterable[_Union[AssumedValue, _Mapping]]] = ..., stand_ins: _Optional[_Iterable[str]] = ..., skipped: _Optional[_Iterable[str]] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class AssumedValue(_message.Message):
    __slots__ = ("name", "value", "place")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    place: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ..., place: _Optional[str] = ...) -> None: ...

class Architecture(_message.Message):
    __slots__ = ("id", "name", "source", "library", "family", "block", "task", "tier", "parameters", "flops", "nodes", "topology", "exact", "inference", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _struct_pb2.Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    LIBRARY_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    FLOPS_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    INFERENCE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    source: str
    library: str
    family: str
    block: str
    task: str
    tier: str
    parameters: int
    flops: int
    nodes: int
    topology: str
    exact: str
    inference: str
    labels: _containers.MessageMap[str, _struct_pb2.Value]
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., source: _Optional[str] = ..., library: _Optional[str] = ..., family: _Optional[str] = ..., block: _Optional[str] = ..., task: _Optional[str] = ..., tier: _Optional[str] = ..., parameters: _Optional[int] = ..., flops: _Optional[int] = ..., nodes: _Optional[int] = ..., topology: _Optional[str] = ..., exact: _Optional[str] = ..., inference: _Optional[str] = ..., labels: _Optional[_Mapping[str, _struct_pb2.Value]] = ...) -> None: ...

class Hit(_message.Message):
    __slots__ = ("architecture", "score")
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    architecture: Architecture
    score: float
    def __init__(self, architecture: _Optional[_Union[Architecture, _Mapping]] = ..., score: _Optional[float] = ...) -> None: ...

class StageTimings(_message.Message):
    __slots__ = ("parse_ns", "motifs_ns", "encode_ns", "search_ns", "queue_ns", "fingerprint_ns")
    PARSE_NS_FIELD_NUMBER: _ClassVar[int]
    MOTIFS_NS_FIELD_NUMBER: _ClassVar[int]
    ENCODE_NS_FIELD_NUMBER: _ClassVar[int]
    SEARCH_NS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_NS_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_NS_FIELD_NUMBER: _ClassVar[int]
    parse_ns: int
    motifs_ns: int
    encode_ns: int
    search_ns: int
    queue_ns: int
    fingerprint_ns: int
    def __init__(self, parse_ns: _Optional[int] = ..., motifs_ns: _Optional[int] = ..., encode_ns: _Optional[int] = ..., search_ns: _Optional[int] = ..., queue_ns: _Optional[int] = ..., fingerprint_ns: _Optional[int] = ...) -> None: ...

class SearchRequest(_message.Message):
    __slots__ = ("queries",)
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    queries: _containers.RepeatedCompositeFieldContainer[Query]
    def __init__(self, queries: _Optional[_Iterable[_Union[Query, _Mapping]]] = ...) -> None: ...

class SearchResponse(_message.Message):
    __slots__ = ("results", "timings")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[SearchResult]
    timings: StageTimings
    def __init__(self, results: _Optional[_Iterable[_Union[SearchResult, _Mapping]]] = ..., timings: _Optional[_Union[StageTimings, _Mapping]] = ...) -> None: ...

class SearchResult(_message.Message):
    __slots__ = ("status", "hits", "same_network", "same_design", "same_at_inference", "novelty", "resemblance", "family", "trunk", "part_of", "bodies", "shared", "compared", "sentences", "assumed", "unread", "wrapped", "changes", "coverage", "stale_since", "card")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    HITS_FIELD_NUMBER: _ClassVar[int]
    SAME_NETWORK_FIELD_NUMBER: _ClassVar[int]
    SAME_DESIGN_FIELD_NUMBER: _ClassVar[int]
    SAME_AT_INFERENCE_FIELD_NUMBER: _ClassVar[int]
    NOVELTY_FIELD_NUMBER: _ClassVar[int]
    RESEMBLANCE_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    TRUNK_FIELD_NUMBER: _ClassVar[int]
    PART_OF_FIELD_NUMBER: _ClassVar[int]
    BODIES_FIELD_NUMBER: _ClassVar[int]
    SHARED_FIELD_NUMBER: _ClassVar[int]
    COMPARED_FIELD_NUMBER: _ClassVar[int]
    SENTENCES_FIELD_NUMBER: _ClassVar[int]
    ASSUMED_FIELD_NUMBER: _ClassVar[int]
    UNREAD_FIELD_NUMBER: _ClassVar[int]
    WRAPPED_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    STALE_SINCE_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    status: _status_pb2.Status
    hits: _containers.RepeatedCompositeFieldContainer[Hit]
    same_network: _containers.RepeatedCompositeFieldContainer[Hit]
    same_design: _containers.RepeatedCompositeFieldContainer[Hit]
    same_at_inference: _containers.RepeatedCompositeFieldContainer[Hit]
    novelty: float
    resemblance: Resemblance
    family: FamilyVerdict
    trunk: FamilyVerdict
    part_of: Wholes
    bodies: Bodies
    shared: Explanations
    compared: int
    sentences: _containers.RepeatedCompositeFieldContainer[Sentence]
    assumed: Assumed
    unread: Unread
    wrapped: Wrapped
    changes: ChangesList
    coverage: Coverage
    stale_since: float
    card: DesignCard
    def __init__(self, status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., hits: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ..., same_network: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ..., same_design: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ..., same_at_inference: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ..., novelty: _Optional[float] = ..., resemblance: _Optional[_Union[Resemblance, _Mapping]] = ..., family: _Optional[_Union[FamilyVerdict, _Mapping]] = ..., trunk: _Optional[_Union[FamilyVerdict, _Mapping]] = ..., part_of: _Optional[_Union[Wholes, _Mapping]] = ..., bodies: _Optional[_Union[Bodies, _Mapping]] = ..., shared: _Optional[_Union[Explanations, _Mapping]] = ..., compared: _Optional[int] = ..., sentences: _Optional[_Iterable[_Union[Sentence, _Mapping]]] = ..., assumed: _Optional[_Union[Assumed, _Mapping]] = ..., unread: _Optional[_Union[Unread, _Mapping]] = ..., wrapped: _Optional[_Union[Wrapped, _Mapping]] = ..., changes: _Optional[_Union[ChangesList, _Mapping]] = ..., coverage: _Optional[_Union[Coverage, _Mapping]] = ..., stale_since: _Optional[float] = ..., card: _Optional[_Union[DesignCard, _Mapping]] = ...) -> None: ...

class DesignCard(_message.Message):
    __slots__ = ("kind", "depth", "stages", "block", "norm", "norm_place", "activation", "mlp", "mlp_ratio", "attention", "heads", "key_value_heads", "head_size", "window", "causal", "positions", "stem", "head", "experts", "top_k")
    KIND_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    NORM_FIELD_NUMBER: _ClassVar[int]
    NORM_PLACE_FIELD_NUMBER: _ClassVar[int]
    ACTIVATION_FIELD_NUMBER: _ClassVar[int]
    MLP_FIELD_NUMBER: _ClassVar[int]
    MLP_RATIO_FIELD_NUMBER: _ClassVar[int]
    ATTENTION_FIELD_NUMBER: _ClassVar[int]
    HEADS_FIELD_NUMBER: _ClassVar[int]
    KEY_VALUE_HEADS_FIELD_NUMBER: _ClassVar[int]
    HEAD_SIZE_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    CAUSAL_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    STEM_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    EXPERTS_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    kind: str
    depth: int
    stages: _containers.RepeatedScalarFieldContainer[int]
    block: str
    norm: str
    norm_place: str
    activation: str
    mlp: str
    mlp_ratio: float
    attention: str
    heads: int
    key_value_heads: int
    head_size: int
    window: int
    causal: bool
    positions: str
    stem: str
    head: str
    experts: int
    top_k: int
    def __init__(self, kind: _Optional[str] = ..., depth: _Optional[int] = ..., stages: _Optional[_Iterable[int]] = ..., block: _Optional[str] = ..., norm: _Optional[str] = ..., norm_place: _Optional[str] = ..., activation: _Optional[str] = ..., mlp: _Optional[str] = ..., mlp_ratio: _Optional[float] = ..., attention: _Optional[str] = ..., heads: _Optional[int] = ..., key_value_heads: _Optional[int] = ..., head_size: _Optional[int] = ..., window: _Optional[int] = ..., causal: _Optional[bool] = ..., positions: _Optional[str] = ..., stem: _Optional[str] = ..., head: _Optional[str] = ..., experts: _Optional[int] = ..., top_k: _Optional[int] = ...) -> None: ...

class ChangesList(_message.Message):
    __slots__ = ("changes",)
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[Changes]
    def __init__(self, changes: _Optional[_Iterable[_Union[Changes, _Mapping]]] = ...) -> None: ...

class Changes(_message.Message):
    __slots__ = ("name", "edits", "design")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EDITS_FIELD_NUMBER: _ClassVar[int]
    DESIGN_FIELD_NUMBER: _ClassVar[int]
    name: str
    edits: Edits
    design: str
    def __init__(self, name: _Optional[str] = ..., edits: _Optional[_Union[Edits, _Mapping]] = ..., design: _Optional[str] = ...) -> None: ...

class Edits(_message.Message):
    __slots__ = ("edits", "first_paired", "second_paired", "at_inference", "text")
    EDITS_FIELD_NUMBER: _ClassVar[int]
    FIRST_PAIRED_FIELD_NUMBER: _ClassVar[int]
    SECOND_PAIRED_FIELD_NUMBER: _ClassVar[int]
    AT_INFERENCE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    edits: _containers.RepeatedCompositeFieldContainer[Edit]
    first_paired: float
    second_paired: float
    at_inference: bool
    text: str
    def __init__(self, edits: _Optional[_Iterable[_Union[Edit, _Mapping]]] = ..., first_paired: _Optional[float] = ..., second_paired: _Optional[float] = ..., at_inference: _Optional[bool] = ..., text: _Optional[str] = ...) -> None: ...

class Edit(_message.Message):
    __slots__ = ("kind", "times", "removed", "added", "after", "part", "text")
    KIND_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    times: int
    removed: _containers.RepeatedScalarFieldContainer[str]
    added: _containers.RepeatedScalarFieldContainer[str]
    after: str
    part: str
    text: str
    def __init__(self, kind: _Optional[str] = ..., times: _Optional[int] = ..., removed: _Optional[_Iterable[str]] = ..., added: _Optional[_Iterable[str]] = ..., after: _Optional[str] = ..., part: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class Coverage(_message.Message):
    __slots__ = ("new", "narrow", "wide", "operators", "nearest", "left", "word")
    NEW_FIELD_NUMBER: _ClassVar[int]
    NARROW_FIELD_NUMBER: _ClassVar[int]
    WIDE_FIELD_NUMBER: _ClassVar[int]
    OPERATORS_FIELD_NUMBER: _ClassVar[int]
    NEAREST_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    WORD_FIELD_NUMBER: _ClassVar[int]
    new: float
    narrow: float
    wide: float
    operators: _containers.RepeatedCompositeFieldContainer[NewOperators]
    nearest: str
    left: float
    word: str
    def __init__(self, new: _Optional[float] = ..., narrow: _Optional[float] = ..., wide: _Optional[float] = ..., operators: _Optional[_Iterable[_Union[NewOperators, _Mapping]]] = ..., nearest: _Optional[str] = ..., left: _Optional[float] = ..., word: _Optional[str] = ...) -> None: ...

class NewOperators(_message.Message):
    __slots__ = ("operator", "times")
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    operator: str
    times: int
    def __init__(self, operator: _Optional[str] = ..., times: _Optional[int] = ...) -> None: ...

class Wrapped(_message.Message):
    __slots__ = ("same", "hits", "taken_off")
    SAME_FIELD_NUMBER: _ClassVar[int]
    HITS_FIELD_NUMBER: _ClassVar[int]
    TAKEN_OFF_FIELD_NUMBER: _ClassVar[int]
    same: str
    hits: _containers.RepeatedCompositeFieldContainer[Hit]
    taken_off: _containers.RepeatedCompositeFieldContainer[TakenOff]
    def __init__(self, same: _Optional[str] = ..., hits: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ..., taken_off: _Optional[_Iterable[_Union[TakenOff, _Mapping]]] = ...) -> None: ...

class TakenOff(_message.Message):
    __slots__ = ("place", "operators", "count", "rank")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    OPERATORS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    place: str
    operators: _containers.RepeatedScalarFieldContainer[str]
    count: int
    rank: int
    def __init__(self, place: _Optional[str] = ..., operators: _Optional[_Iterable[str]] = ..., count: _Optional[int] = ..., rank: _Optional[int] = ...) -> None: ...

class Resemblance(_message.Message):
    __slots__ = ("word", "name", "family", "hits", "of", "score")
    WORD_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    HITS_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    word: str
    name: str
    family: str
    hits: int
    of: int
    score: float
    def __init__(self, word: _Optional[str] = ..., name: _Optional[str] = ..., family: _Optional[str] = ..., hits: _Optional[int] = ..., of: _Optional[int] = ..., score: _Optional[float] = ...) -> None: ...

class FamilyVerdict(_message.Message):
    __slots__ = ("family", "of", "counts")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    family: str
    of: int
    counts: _containers.RepeatedCompositeFieldContainer[FamilyCount]
    def __init__(self, family: _Optional[str] = ..., of: _Optional[int] = ..., counts: _Optional[_Iterable[_Union[FamilyCount, _Mapping]]] = ...) -> None: ...

class FamilyCount(_message.Message):
    __slots__ = ("family", "hits", "score", "vote", "also")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    HITS_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    VOTE_FIELD_NUMBER: _ClassVar[int]
    ALSO_FIELD_NUMBER: _ClassVar[int]
    family: str
    hits: int
    score: float
    vote: float
    also: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, family: _Optional[str] = ..., hits: _Optional[int] = ..., score: _Optional[float] = ..., vote: _Optional[float] = ..., also: _Optional[_Iterable[str]] = ...) -> None: ...

class Wholes(_message.Message):
    __slots__ = ("wholes",)
    WHOLES_FIELD_NUMBER: _ClassVar[int]
    wholes: _containers.RepeatedCompositeFieldContainer[Whole]
    def __init__(self, wholes: _Optional[_Iterable[_Union[Whole, _Mapping]]] = ...) -> None: ...

class Whole(_message.Message):
    __slots__ = ("name", "share", "of_whole", "where")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    OF_WHOLE_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    name: str
    share: float
    of_whole: float
    where: str
    def __init__(self, name: _Optional[str] = ..., share: _Optional[float] = ..., of_whole: _Optional[float] = ..., where: _Optional[str] = ...) -> None: ...

class Bodies(_message.Message):
    __slots__ = ("bodies",)
    BODIES_FIELD_NUMBER: _ClassVar[int]
    bodies: _containers.RepeatedCompositeFieldContainer[Body]
    def __init__(self, bodies: _Optional[_Iterable[_Union[Body, _Mapping]]] = ...) -> None: ...

class Body(_message.Message):
    __slots__ = ("name", "differs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIFFERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    differs: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., differs: _Optional[_Iterable[str]] = ...) -> None: ...

class Explanations(_message.Message):
    __slots__ = ("explanations",)
    EXPLANATIONS_FIELD_NUMBER: _ClassVar[int]
    explanations: _containers.RepeatedCompositeFieldContainer[Explanation]
    def __init__(self, explanations: _Optional[_Iterable[_Union[Explanation, _Mapping]]] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("name", "shared", "different", "at_inference", "differs", "edits")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHARED_FIELD_NUMBER: _ClassVar[int]
    DIFFERENT_FIELD_NUMBER: _ClassVar[int]
    AT_INFERENCE_FIELD_NUMBER: _ClassVar[int]
    DIFFERS_FIELD_NUMBER: _ClassVar[int]
    EDITS_FIELD_NUMBER: _ClassVar[int]
    name: str
    shared: _containers.RepeatedCompositeFieldContainer[MotifCounts]
    different: _containers.RepeatedCompositeFieldContainer[MotifCounts]
    at_inference: bool
    differs: Differing
    edits: Edits
    def __init__(self, name: _Optional[str] = ..., shared: _Optional[_Iterable[_Union[MotifCounts, _Mapping]]] = ..., different: _Optional[_Iterable[_Union[MotifCounts, _Mapping]]] = ..., at_inference: _Optional[bool] = ..., differs: _Optional[_Union[Differing, _Mapping]] = ..., edits: _Optional[_Union[Edits, _Mapping]] = ...) -> None: ...

class Differing(_message.Message):
    __slots__ = ("roles",)
    ROLES_FIELD_NUMBER: _ClassVar[int]
    roles: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, roles: _Optional[_Iterable[str]] = ...) -> None: ...

class Sentence(_message.Message):
    __slots__ = ("part", "text", "names")
    PART_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    part: str
    text: str
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, part: _Optional[str] = ..., text: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ...) -> None: ...

class EmbedRequest(_message.Message):
    __slots__ = ("graphs",)
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    graphs: _containers.RepeatedCompositeFieldContainer[Graph]
    def __init__(self, graphs: _Optional[_Iterable[_Union[Graph, _Mapping]]] = ...) -> None: ...

class EmbedResponse(_message.Message):
    __slots__ = ("results", "timings")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[EmbedResult]
    timings: StageTimings
    def __init__(self, results: _Optional[_Iterable[_Union[EmbedResult, _Mapping]]] = ..., timings: _Optional[_Union[StageTimings, _Mapping]] = ...) -> None: ...

class EmbedResult(_message.Message):
    __slots__ = ("status", "vector", "topology", "exact", "inference")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    INFERENCE_FIELD_NUMBER: _ClassVar[int]
    status: _status_pb2.Status
    vector: Vector
    topology: str
    exact: str
    inference: str
    def __init__(self, status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., vector: _Optional[_Union[Vector, _Mapping]] = ..., topology: _Optional[str] = ..., exact: _Optional[str] = ..., inference: _Optional[str] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("architectures",)
    ARCHITECTURES_FIELD_NUMBER: _ClassVar[int]
    architectures: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, architectures: _Optional[_Iterable[str]] = ...) -> None: ...

class GetResponse(_message.Message):
    __slots__ = ("results", "stale_since")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    STALE_SINCE_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[GetResult]
    stale_since: float
    def __init__(self, results: _Optional[_Iterable[_Union[GetResult, _Mapping]]] = ..., stale_since: _Optional[float] = ...) -> None: ...

class GetResult(_message.Message):
    __slots__ = ("status", "architecture")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    status: _status_pb2.Status
    architecture: Architecture
    def __init__(self, status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., architecture: _Optional[_Union[Architecture, _Mapping]] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("version", "encoder", "index_rows", "limits", "operators", "attribute_names", "index")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ENCODER_FIELD_NUMBER: _ClassVar[int]
    INDEX_ROWS_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    OPERATORS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTE_NAMES_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    version: str
    encoder: Encoder
    index_rows: int
    limits: Limits
    operators: _containers.RepeatedScalarFieldContainer[str]
    attribute_names: _containers.RepeatedScalarFieldContainer[str]
    index: Index
    def __init__(self, version: _Optional[str] = ..., encoder: _Optional[_Union[Encoder, _Mapping]] = ..., index_rows: _Optional[int] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., operators: _Optional[_Iterable[str]] = ..., attribute_names: _Optional[_Iterable[str]] = ..., index: _Optional[_Union[Index, _Mapping]] = ...) -> None: ...

class Index(_message.Message):
    __slots__ = ("collection", "is_in_memory", "is_writable", "visible_within_ms", "stale_since")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    IS_IN_MEMORY_FIELD_NUMBER: _ClassVar[int]
    IS_WRITABLE_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_WITHIN_MS_FIELD_NUMBER: _ClassVar[int]
    STALE_SINCE_FIELD_NUMBER: _ClassVar[int]
    collection: str
    is_in_memory: bool
    is_writable: bool
    visible_within_ms: int
    stale_since: float
    def __init__(self, collection: _Optional[str] = ..., is_in_memory: _Optional[bool] = ..., is_writable: _Optional[bool] = ..., visible_within_ms: _Optional[int] = ..., stale_since: _Optional[float] = ...) -> None: ...

class Encoder(_message.Message):
    __slots__ = ("name", "fingerprint", "dim")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    DIM_FIELD_NUMBER: _ClassVar[int]
    name: str
    fingerprint: str
    dim: int
    def __init__(self, name: _Optional[str] = ..., fingerprint: _Optional[str] = ..., dim: _Optional[int] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("max_items", "max_top_k", "default_top_k", "max_nodes", "max_edges", "max_message_bytes", "max_in_flight", "max_call_nodes", "max_call_edges", "max_page_size", "max_filters", "max_filter_values", "max_text_bytes", "max_filter_depth", "max_operator_chars", "max_call_s", "max_upload_s", "max_search_streams", "max_idle_s")
    MAX_ITEMS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOP_K_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_TOP_K_FIELD_NUMBER: _ClassVar[int]
    MAX_NODES_FIELD_NUMBER: _ClassVar[int]
    MAX_EDGES_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MAX_CALL_NODES_FIELD_NUMBER: _ClassVar[int]
    MAX_CALL_EDGES_FIELD_NUMBER: _ClassVar[int]
    MAX_PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    MAX_FILTERS_FIELD_NUMBER: _ClassVar[int]
    MAX_FILTER_VALUES_FIELD_NUMBER: _ClassVar[int]
    MAX_TEXT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_FILTER_DEPTH_FIELD_NUMBER: _ClassVar[int]
    MAX_OPERATOR_CHARS_FIELD_NUMBER: _ClassVar[int]
    MAX_CALL_S_FIELD_NUMBER: _ClassVar[int]
    MAX_UPLOAD_S_FIELD_NUMBER: _ClassVar[int]
    MAX_SEARCH_STREAMS_FIELD_NUMBER: _ClassVar[int]
    MAX_IDLE_S_FIELD_NUMBER: _ClassVar[int]
    max_items: int
    max_top_k: int
    default_top_k: int
    max_nodes: int
    max_edges: int
    max_message_bytes: int
    max_in_flight: int
    max_call_nodes: int
    max_call_edges: int
    max_page_size: int
    max_filters: int
    max_filter_values: int
    max_text_bytes: int
    max_filter_depth: int
    max_operator_chars: int
    max_call_s: float
    max_upload_s: float
    max_search_streams: int
    max_idle_s: float
    def __init__(self, max_items: _Optional[int] = ..., max_top_k: _Optional[int] = ..., default_top_k: _Optional[int] = ..., max_nodes: _Optional[int] = ..., max_edges: _Optional[int] = ..., max_message_bytes: _Optional[int] = ..., max_in_flight: _Optional[int] = ..., max_call_nodes: _Optional[int] = ..., max_call_edges: _Optional[int] = ..., max_page_size: _Optional[int] = ..., max_filters: _Optional[int] = ..., max_filter_values: _Optional[int] = ..., max_text_bytes: _Optional[int] = ..., max_filter_depth: _Optional[int] = ..., max_operator_chars: _Optional[int] = ..., max_call_s: _Optional[float] = ..., max_upload_s: _Optional[float] = ..., max_search_streams: _Optional[int] = ..., max_idle_s: _Optional[float] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("filter", "page_size", "page_token")
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    filter: Filter
    page_size: int
    page_token: str
    def __init__(self, filter: _Optional[_Union[Filter, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("architectures", "next_page_token", "stale_since")
    ARCHITECTURES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_SINCE_FIELD_NUMBER: _ClassVar[int]
    architectures: _containers.RepeatedCompositeFieldContainer[Architecture]
    next_page_token: str
    stale_since: float
    def __init__(self, architectures: _Optional[_Iterable[_Union[Architecture, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., stale_since: _Optional[float] = ...) -> None: ...

class NewArchitecture(_message.Message):
    __slots__ = ("name", "source", "library", "family", "block", "task", "tier", "graph", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _struct_pb2.Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    LIBRARY_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    name: str
    source: str
    library: str
    family: str
    block: str
    task: str
    tier: str
    graph: Graph
    labels: _containers.MessageMap[str, _struct_pb2.Value]
    def __init__(self, name: _Optional[str] = ..., source: _Optional[str] = ..., library: _Optional[str] = ..., family: _Optional[str] = ..., block: _Optional[str] = ..., task: _Optional[str] = ..., tier: _Optional[str] = ..., graph: _Optional[_Union[Graph, _Mapping]] = ..., labels: _Optional[_Mapping[str, _struct_pb2.Value]] = ...) -> None: ...

class UpsertRequest(_message.Message):
    __slots__ = ("architectures",)
    ARCHITECTURES_FIELD_NUMBER: _ClassVar[int]
    architectures: _containers.RepeatedCompositeFieldContainer[NewArchitecture]
    def __init__(self, architectures: _Optional[_Iterable[_Union[NewArchitecture, _Mapping]]] = ...) -> None: ...

class UpsertResponse(_message.Message):
    __slots__ = ("results", "timings")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[UpsertResult]
    timings: StageTimings
    def __init__(self, results: _Optional[_Iterable[_Union[UpsertResult, _Mapping]]] = ..., timings: _Optional[_Union[StageTimings, _Mapping]] = ...) -> None: ...

class UpsertResult(_message.Message):
    __slots__ = ("status", "architecture")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    status: _status_pb2.Status
    architecture: Architecture
    def __init__(self, status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., architecture: _Optional[_Union[Architecture, _Mapping]] = ...) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ("architectures",)
    ARCHITECTURES_FIELD_NUMBER: _ClassVar[int]
    architectures: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, architectures: _Optional[_Iterable[str]] = ...) -> None: ...

class DeleteResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[DeleteResult]
    def __init__(self, results: _Optional[_Iterable[_Union[DeleteResult, _Mapping]]] = ...) -> None: ...

class DeleteResult(_message.Message):
    __slots__ = ("status", "architecture")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    status: _status_pb2.Status
    architecture: Architecture
    def __init__(self, status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., architecture: _Optional[_Union[Architecture, _Mapping]] = ...) -> None: ...

class LabelRequest(_message.Message):
    __slots__ = ("changes",)
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[LabelChange]
    def __init__(self, changes: _Optional[_Iterable[_Union[LabelChange, _Mapping]]] = ...) -> None: ...

class LabelChange(_message.Message):
    __slots__ = ("architecture", "labels", "removed", "family", "task")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _struct_pb2.Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    architecture: str
    labels: _containers.MessageMap[str, _struct_pb2.Value]
    removed: _containers.RepeatedScalarFieldContainer[str]
    family: str
    task: str
    def __init__(self, architecture: _Optional[str] = ..., labels: _Optional[_Mapping[str, _struct_pb2.Value]] = ..., removed: _Optional[_Iterable[str]] = ..., family: _Optional[str] = ..., task: _Optional[str] = ...) -> None: ...

class LabelResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[LabelResult]
    def __init__(self, results: _Optional[_Iterable[_Union[LabelResult, _Mapping]]] = ...) -> None: ...

class LabelResult(_message.Message):
    __slots__ = ("status", "architecture")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    status: _status_pb2.Status
    architecture: Architecture
    def __init__(self, status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., architecture: _Optional[_Union[Architecture, _Mapping]] = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("graph", "architecture", "others")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIELD_NUMBER: _ClassVar[int]
    graph: Graph
    architecture: str
    others: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, graph: _Optional[_Union[Graph, _Mapping]] = ..., architecture: _Optional[str] = ..., others: _Optional[_Iterable[str]] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("results", "timings")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ExplainResult]
    timings: StageTimings
    def __init__(self, results: _Optional[_Iterable[_Union[ExplainResult, _Mapping]]] = ..., timings: _Optional[_Union[StageTimings, _Mapping]] = ...) -> None: ...

class ExplainResult(_message.Message):
    __slots__ = ("status", "architecture", "shared", "different", "target_share", "other_share", "at_inference", "edits")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    SHARED_FIELD_NUMBER: _ClassVar[int]
    DIFFERENT_FIELD_NUMBER: _ClassVar[int]
    TARGET_SHARE_FIELD_NUMBER: _ClassVar[int]
    OTHER_SHARE_FIELD_NUMBER: _ClassVar[int]
    AT_INFERENCE_FIELD_NUMBER: _ClassVar[int]
    EDITS_FIELD_NUMBER: _ClassVar[int]
    status: _status_pb2.Status
    architecture: Architecture
    shared: _containers.RepeatedCompositeFieldContainer[MotifCounts]
    different: _containers.RepeatedCompositeFieldContainer[MotifCounts]
    target_share: float
    other_share: float
    at_inference: bool
    edits: Edits
    def __init__(self, status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., architecture: _Optional[_Union[Architecture, _Mapping]] = ..., shared: _Optional[_Iterable[_Union[MotifCounts, _Mapping]]] = ..., different: _Optional[_Iterable[_Union[MotifCounts, _Mapping]]] = ..., target_share: _Optional[float] = ..., other_share: _Optional[float] = ..., at_inference: _Optional[bool] = ..., edits: _Optional[_Union[Edits, _Mapping]] = ...) -> None: ...

class MotifCounts(_message.Message):
    __slots__ = ("code", "operators", "in_target", "in_other")
    CODE_FIELD_NUMBER: _ClassVar[int]
    OPERATORS_FIELD_NUMBER: _ClassVar[int]
    IN_TARGET_FIELD_NUMBER: _ClassVar[int]
    IN_OTHER_FIELD_NUMBER: _ClassVar[int]
    code: str
    operators: _containers.RepeatedScalarFieldContainer[str]
    in_target: int
    in_other: int
    def __init__(self, code: _Optional[str] = ..., operators: _Optional[_Iterable[str]] = ..., in_target: _Optional[int] = ..., in_other: _Optional[int] = ...) -> None: ...
