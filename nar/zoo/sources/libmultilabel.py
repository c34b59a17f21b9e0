"""The networks of LibMultiLabel: which of many labels does a text have?"""

from nar.zoo.sources.tables import table_source

LIBMULTILABEL = table_source("libmultilabel", licence="MIT", example="KimCNN/rcv1")
