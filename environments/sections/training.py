"""[training]"""

import json
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from environments.refusals import Misfit
from environments.sections.section import Section
from training.argument_checks import STEPS_BEFORE_PROFILE

MOST_DEADLINE_HOURS = 168


class Training(Section):
    """The training job."""

    model: str = Field(
        pattern=r"^[\w-][\w.-]*/[\w.-]+$",
        description="Name a model of the Hugging Face hub, such as Qwen/Qwen2.5-1.5B. A folder on your disk does not "
        "exist in the cluster; `make rehearse MODEL=folder` takes one.",
    )
    revision: str = Field(
        pattern=r"^[0-9a-f]{40}$", description="Pin the model's commit, 40 hexadecimal digits from its page on the hub."
    )
    data: str = Field(
        pattern=r"^(stdlib|synthetic|hf://datasets/[\w.-]+/[\w.-]+(/[\w./-]+)?)$",
        description="Write stdlib (real text: the sources of Python's standard library), synthetic (random tokens), or "
        "a data set of the Hugging Face hub, hf://datasets/org/name or a folder of it, of parquet, jsonl or text.",
    )
    data_revision: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{40}$",
        description="With hf:// data, pin their commit, 40 hexadecimal digits from their page on the hub.",
    )
    text_field: str | None = Field(
        default=None,
        pattern=r"^\w+$",
        description="With hf:// data, name the column that holds the text; left out, it is text.",
    )
    steps: int = Field(ge=1, description="Give the number of optimizer steps, 1 or more.")
    sequence_length: int = Field(ge=8, le=131_072, description="Give the tokens of one sequence, 8 to 131072.")
    micro_batch: int = Field(ge=1, description="Give the sequences that one GPU takes at a time, 1 or more.")
    accumulation: int = Field(
        ge=1, description="Give the micro-batches of one optimizer step, 1 or more: nodes talk once per step."
    )
    learning_rate: float = Field(gt=0, lt=1, description="Give the peak learning rate, such as 2e-5.")
    warmup_steps: int = Field(ge=0, description="Give the steps in which the learning rate rises, such as 10.")
    schedule: Literal["constant", "cosine"] = Field(
        description="Write constant, or cosine to let the learning rate fall to a tenth."
    )
    seed: int = Field(
        ge=0, le=2**32 - 1, description="Give the seed of the data order and of new weights, of 32 bits at most."
    )
    sharding: Literal["auto", "hsdp", "full"] = Field(
        description="Write auto (hsdp on several nodes), hsdp (shard inside a node, replicate across) or full."
    )
    activation_checkpointing: Literal["off", "selective", "full"] = Field(
        description="Write off, or selective or full to compute activations again and save memory."
    )
    reshard_after_forward: bool = Field(
        default=True, description="Write false to keep gathered weights for the backward: faster, and more memory."
    )
    reduce_dtype: Literal["float32", "bfloat16"] = Field(
        default="float32",
        description="Write float32, or bfloat16 to sum gradients in half the bytes, and with less precision.",
    )
    compile: bool = Field(description="Write true to compile each decoder layer: a slower start, faster steps.")
    checkpoint_every: int = Field(ge=0, description="Give the steps between two checkpoints, or 0 for none.")
    keep_checkpoints: int = Field(ge=1, description="Give the number of checkpoints to keep, 1 or more.")
    evaluate_every: int = Field(
        default=0, ge=0, description="Give the steps between two evaluations on held-out sequences, or 0 for none."
    )
    evaluation_sequences: int = Field(
        default=0, ge=0, description="Give the sequences to hold out, from the end of the data, or 0 for none."
    )
    profile_steps: int = Field(
        default=0, ge=0, description="Give the steps to record on one GPU, after the first five, or 0 for none."
    )
    max_failures: int = Field(
        ge=0, description="Give the lost workers or nodes that the run survives before it fails, such as 3."
    )
    resume: str | None = Field(
        default=None,
        pattern=r"^train-[0-9a-f]+$",
        description="Name a run of this environment, train-..., to go on from its newest checkpoint, or leave it out.",
    )
    require_transport: Literal["efa", "socket", "none"] = Field(
        description="Write efa (before the first step the job proves that EFA carries its bytes, or ends), socket "
        "(the same for TCP, to compare the two) or none."
    )
    attempt: int = Field(ge=1, description="Give 1, and raise it to run the same job again.")
    deadline_hours: int = Field(
        ge=1,
        le=MOST_DEADLINE_HOURS,
        description="Give the hours after which the training stops itself, 1 to 168. The nodes bill on, until destroy.",
    )

    def _misfits(self) -> Iterator[Misfit]:
        hub = self.data.startswith("hf://")
        if hub and self.data_revision is None:
            yield Misfit(
                field="training.data_revision",
                value=None,
                expected=f"the commit of {self.data}: data of the hub can change",
                remedy="pin it, 40 hexadecimal digits from the data set's page on the hub",
            )
        for field in ("data_revision", "text_field"):
            value = getattr(self, field)
            if value is not None and not hub:
                yield Misfit(
                    field=f"training.{field}",
                    value=value,
                    expected=f"none with data = {json.dumps(self.data)}, which would ignore it",
                    remedy="remove it, or give hf:// data",
                )
        if self.checkpoint_every > self.steps:
            yield Misfit(
                field="training.checkpoint_every",
                value=self.checkpoint_every,
                expected=f"at most training.steps, {self.steps}: it is never reached",
                remedy="lower it, or write 0 for no checkpoints",
            )
        if bool(self.evaluate_every) != bool(self.evaluation_sequences):
            such_as = {"evaluate_every": min(50, self.steps), "evaluation_sequences": 64}
            missing, given = ("evaluate_every", "evaluation_sequences")[:: 1 if self.evaluation_sequences else -1]
            yield Misfit(
                field=f"training.{missing}",
                value=0,
                expected=f"more than 0 with {given} = {getattr(self, given)}, which has no effect without it",
                remedy=f"add {missing} = {such_as[missing]}, or remove {given}",
            )
        elif self.evaluate_every > self.steps:
            yield Misfit(
                field="training.evaluate_every",
                value=self.evaluate_every,
                expected=f"at most training.steps, {self.steps}: it is never reached",
                remedy="lower it, or write 0 for none",
            )
        if self.profile_steps and self.profile_steps > self.steps - STEPS_BEFORE_PROFILE:
            yield Misfit(
                field="training.profile_steps",
                value=self.profile_steps,
                expected=f"at most {max(0, self.steps - STEPS_BEFORE_PROFILE)}, for the first "
                f"{STEPS_BEFORE_PROFILE} of training.steps, {self.steps}, warm up",
                remedy="lower it, or raise steps",
            )
        if self.schedule == "cosine" and self.warmup_steps >= self.steps:
            yield Misfit(
                field="training.warmup_steps",
                value=self.warmup_steps,
                expected=f"fewer than training.steps, {self.steps}: nothing is left in which cosine could fall",
                remedy="lower it, or raise steps",
            )
