"""The settings of a command that asks a cluster: which one, and how many copies it can hold.

Owns: that no cluster named means the one in the data folder, and that one node holds one copy.
May not: start anything, or overrule what was set.
"""

from pathlib import Path

from ops.kafka.cluster import stored_plan
from schemas.settings import Settings, load_settings


def settings_here() -> Settings:
    """The environment's settings, with the data folder's own cluster where it is the one meant.

    Raises SettingsError.
    """
    settings = load_settings()
    plan = stored_plan(Path(settings.data_dir))
    if plan is None or settings.bootstrap_servers not in {"", plan.bootstrap_servers}:
        return settings
    known: dict[str, object] = {"bootstrap_servers": plan.bootstrap_servers}
    if plan.replicas == 1 and "durability" not in settings.model_fields_set:
        known["durability"] = "single-node"
    return settings.model_copy(update=known)
