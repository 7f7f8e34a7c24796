from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT_TORCH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name=name)

sys.meta_path.insert(0, NoTorch())
from lastseen.errors import MissingExtra
import lastseen.search.policy.pixelnav.policy
from lastseen.search.policy.pixelnav.policy import PixelNavPolicy
try:
    {attempt}
except MissingExtra as error:
    print(error)
"""


@pytest.mark.parametrize(
    "attempt",
    [
        "PixelNavPolicy.from_checkpoint('any.ckpt')",
        "import lastseen.search.policy.pixelnav.network",
    ],
)
def test_without_torch_it_says_what_to_install(attempt: str) -> None:
    code = WITHOUT_TORCH.format(attempt=attempt)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "the PixelNav policy needs the extra 'torch'; install it with: pip install 'lastseen[torch]' "
        "(in a checkout: '.[torch]')\n"
    )


def test_the_policy_module_loads_no_torch_by_itself() -> None:
    code = "import sys, lastseen.search.policy.pixelnav.policy; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
