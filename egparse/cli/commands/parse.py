"""``egparse parse``: annotate CoNLL-U files, other corpora, or plain text."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from egparse.cli.notices import announce_compilation, complain, say, warnings_shown
from egparse.cli.options import (
    FROM_0,
    FROM_1,
    INPUTS,
    MODEL,
    Engine,
    InputFormat,
    OutputFormat,
    check_engine,
)
from egparse.errors import EgparseError


def parse(
    model: Annotated[Path, MODEL],
    inputs: Annotated[list[Path], INPUTS],
    output: Path | None = None,
    output_dir: Path | None = None,
    format: InputFormat = InputFormat.AUTO,
    output_format: OutputFormat | None = None,
    encoding: str = "utf-8",
    gold_tags: bool = False,
    respect_input: bool = False,
    marginals: bool = False,
    k_best: Annotated[int | None, FROM_1] = None,
    exceptions: Path | None = None,
    treebank: str | None = None,
    valid_labels: bool = False,
    enhanced: bool = False,
    jobs: Annotated[int, FROM_0] = 1,
    engine: Engine = Engine.LOCAL,
    workers: Annotated[int | None, FROM_1] = None,
    ray_address: str | None = None,
    resume: bool = False,
    force: bool = False,
    quiet: bool = False,
) -> None:
    """Annotate corpora, or plain text.

    A CoNLL-U file keeps its comments, multiword tokens, empty nodes and MISC; only the columns that
    the model predicts are filled (and MISC, for entities and --marginals). DEPS of a sentence whose
    tree changes is dropped, or written anew if it only repeats HEAD and DEPREL; --enhanced fills it
    by rules, without empty nodes. Input that does not
    look like a corpus is taken as text: the model splits it into words and sentences, or spaCy's
    rules for its language do so, where it has no tokeniser or no splitter. It becomes CoNLL-U,
    whose MISC has the blanks after each token and its place, so that the text can be given back.
    With --format sentences each line is a sentence, whose words are found; with horizontal and
    vertical the words are given too.

    Several inputs are joined in one output, where '# newdoc id' names each of them in CoNLL-U (in
    JSON the key newdoc), or written to a folder. Of folders, files ending in .txt, .text, .conllu,
    .conllx or .conll are taken, also with .gz, .bz2, .xz or .zst after that, but for hidden ones.
    Compression is recognised by content. From a pipe or a terminal, each paragraph or sentence is
    annotated and written as soon as the blank line after it has come, unless there are several
    --jobs.

    Arguments:
        INPUT: Corpora or texts, which may be compressed; of a folder, all of them in it and in its
            subfolders; addresses (s3://, gs://, https://); - for standard input.

    Options:
        --output-dir DIR: Write a file for each input into this folder, named like the input but for
            the ending.
        --format, --input FORMAT: {INPUT_FORMATS}
        --output-format FORMAT: conllu, conllx, conll2000, conll2002, conll2003, json, jsonl (a
            sentence a line), text, horizontal, vertical or tree, which draws trees for a terminal
            (default: conllu, or the format of an input that is another corpus).
        --respect-input: Keep every value of the input, and fill cells that hold _ with the best
            completion given them.
        --marginals: Write the probability of each predicted value, from 0 to 1, to MISC: PUpos,
            PXpos, PFeats, PLemma, PHead, PDeprel (given the head) and PNE. Also in JSON, tables and
            trees.
        --k-best K: Write the K most probable trees of each sentence, best first, each with its
            probability in a comment tree_probability.
        --enhanced: Fill DEPS with the enhanced dependencies that rules make of the tree, also of
            one that is given and kept by --respect-input; without empty nodes. English, Romance
            languages, Dutch and Swedish; CoNLL-U, JSON and tables only.
        --jobs, -j N: Annotate with N processes (0: one for each processor); the output does not
            depend on N.
        --resume: Keep a journal beside the output, and go on where an interrupted run of the same
            command stopped; the output is that of a run without interruption.

    Examples:
        egparse parse model.msgpack input.conllu --output output.conllu
        egparse parse model.msgpack letter.txt | head -20
        egparse parse model.msgpack letters/ more.txt.gz --output letters.conllu
        egparse parse model.msgpack letters/ --output-dir parsed/ --jobs 0
        echo 'The cat sat on the mat.' | egparse parse model.msgpack -
        egparse parse model.msgpack old.txt --encoding latin-1
        egparse parse model.msgpack corrected.conllu --respect-input
        egparse parse model.msgpack input.conllu --marginals --output probable.conllu
        egparse parse model.msgpack letter.txt --enhanced
        egparse parse model.msgpack letter.txt --exceptions names.conllu
        egparse parse model.msgpack large.conllu --jobs 0 --output output.conllu
        egparse parse model.msgpack web.txt.zst --jobs 0 --resume --output web.conllu.gz
        egparse parse model.msgpack s3://corpora/web.txt.gz --engine ray --workers 64
            --ray-address head:6379 --output web.conllu --resume
        egparse parse chunker.msgpack words.txt --format conll2000
        egparse parse model.msgpack tokens.txt --format horizontal
        egparse parse model.msgpack letter.txt --output-format json --output letter.json
        egparse parse model.msgpack letter.txt --output-format tree --marginals | less
        egparse parse model.msgpack letter.txt --output-format tree --k-best 2
        egparse parse model.msgpack letters/ --output-format parquet --output letters.parquet
    """
    from egparse.cli.annotating.inputs import input_files
    from egparse.cli.annotating.outputs import Request, check_joined, check_table, opened_documents
    from egparse.cli.annotating.resuming import resumption
    from egparse.io.encodings import checked_encoding
    from egparse.service.hub.resolve import find_model

    if output is not None and output_dir is not None:
        raise EgparseError("--output-dir: expected no --output beside it, got both")
    others = {
        "--marginals": marginals,
        "--respect-input": respect_input,
        "--enhanced": enhanced,
    }
    for flag, is_given in others.items():
        if k_best is not None and is_given:
            raise EgparseError(f"--k-best: expected no {flag} beside it, got both")
    check_engine(engine, workers, ray_address, None if jobs == 1 else jobs)
    checked_encoding(encoding)
    files = input_files(inputs)
    path = find_model(model)  # before numba is imported
    request = Request(
        path,
        files,
        output,
        output_dir,
        format,
        output_format,
        force,
        encoding,
        gold_tags,
        respect_input,
        marginals,
        None if exceptions is None else str(exceptions),
        treebank,
        valid_labels,
        k_best,
        enhanced,
    )
    check_table(request, resume=resume)
    with ExitStack() as stack:
        journal = None
        if resume:
            if output is not None:
                check_joined(request)
            journal = stack.enter_context(
                resumption(output, output_dir, path, files, request.options)
            )
            if journal is None:
                say(f"{output}: the interrupted run was complete")
                return
        documents = stack.enter_context(opened_documents(request, journal))
        map_all = None
        if jobs != 1 or resume or engine is not Engine.LOCAL:
            from egparse.cli.workers import annotators_of

            map_all = stack.enter_context(annotators_of(engine, workers, ray_address, jobs))
        from egparse.cli.annotating.progress import Progress, on_terminal
        from egparse.cli.annotating.run import Run
        from egparse.pipeline.model import Model

        if not quiet:
            announce_compilation()
        loaded = Model.load(path)
        if request.exceptions is not None:
            loaded = loaded.with_exceptions(request.exceptions)
        if treebank is not None:
            loaded = loaded.in_treebank(treebank)
        if valid_labels:
            loaded = loaded.with_valid_labels()
        if marginals:
            loaded.require_probabilities()
        if enhanced:
            loaded.require_enhanced()
        to_file = output is not None or output_dir is not None
        shown = on_terminal(files, quiet, to_file)
        progress = Progress(files, shown)

        def say_empty(name: str) -> None:
            if not quiet:
                complain(f"{name}: nothing to parse")

        run = Run(loaded, request, documents, progress, say_empty, journal)
        stack.enter_context(warnings_shown(quiet))
        stack.callback(progress.clear)
        tells = (to_file or shown) and not quiet
        if tells:
            run.load_kernels()
        run.annotate(map_all)
    if tells:
        say(progress.result())
