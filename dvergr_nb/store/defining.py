"""What defining a profile means: a version, given once, says the same for ever."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

from dvergr_nb.agent_errors import ProfileConflict
from dvergr_nb.errors import BadInput
from dvergr_nb.records.operation import Define, Defined
from dvergr_nb.records.profile import Profile, checked, profile_of
from dvergr_nb.records.text import mended, shown
from dvergr_nb.store.draft import Draft
from dvergr_nb.store.profiles import Version


def defined(draft: Draft, unit: Define) -> Defined:
    """Finds or makes a version. Raises `BadInput`, or `ProfileConflict` where the version is there and says something else."""
    profile = _sound(unit.profile)
    there = _same(draft, unit.tenant_id, profile, unit.at)
    if there is not None:
        known = dataclasses.replace(profile, version=there.number, created_at=there.created_at)
        return Defined(profile=known, inserted=False)
    latest = draft.latest_profile(unit.tenant_id, profile.id)
    number = 1 if latest is None else latest.number + 1
    if profile.version not in (0, number):
        raise BadInput(
            f"{profile.id!r} has no version {profile.version} yet, and the next one is {number}; leave version out to make it"
        )
    made = dataclasses.replace(profile, version=number, created_at=unit.at)
    draft.add_profile(made, unit.tenant_id, mended(unit.user_id), unit.at)
    return Defined(profile=made, inserted=True)


def _same(draft: Draft, tenant_id: str, profile: Profile, at: dt.datetime) -> Version | None:
    """The version that is meant, where it is there: the latest if it says the same, or the one that is named."""
    latest = draft.latest_profile(tenant_id, profile.id)
    if profile.version == 0 or latest is None:
        if latest is None or latest.hash == profile.hash:
            return latest
        return draft.profile_made_then(tenant_id, profile, at) if draft.resent else None
    if profile.version > latest.number:
        return None
    named = draft.profile_version(tenant_id, profile.id, profile.version)
    if named is not None and named.hash != profile.hash:
        raise ProfileConflict(profile.id, profile.version)
    return named


def _sound(profile: Profile) -> Profile:
    """The profile, checked, all its text mended, so that it is the same when it is read again."""
    version = profile.version
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise BadInput(f"the version of a profile is a whole number from 1, or left out, not {shown(version)}")
    content: dict[str, Any] = _mended(checked(profile).content())
    return profile_of(content, version=version)


def _mended(value: Any) -> Any:
    """Plain data with every text in it mended."""
    if isinstance(value, str):
        return mended(value)
    if isinstance(value, dict):
        return {_mended(name): _mended(each) for name, each in value.items()}
    return [_mended(each) for each in value] if isinstance(value, list | tuple) else value
