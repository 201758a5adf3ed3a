"""The types of what the API takes and returns, for annotations: `from bonafide.models import Session`."""

from .details import *
from .generated.models import *
from .words import *
