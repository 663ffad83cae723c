// assay verify: its flags and its help
#include <memory>

#include "commands.h"
#include "graph_flag.h"
#include "number_checks.h"
#include "shared_flags.h"
#include "verify_flags.h"

namespace assay {

void add_verify(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("verify", "Prove kernels right on generated cases");
  command->footer(
      "Without --thorough, --cases, --time, --case, --cases-from or --fixtures this is the short run: two minutes for\n"
      "everything, less for a few operators. Each operator and dtype gets as many of its 250 cases as there is time for, all the same number\n"
      "and at least 24, among which each kind of data and each class of shape and layout of the 250 occurs. Kernels of other\n"
      "libraries get the first 24; cuda.emulated and cuda.ptx (CUDA kernels on the processor, up to fifty times as slow) get\n"
      "none; those that --impl names get all that ours get. The last lines say what was left out. --thorough runs everything:\n"
      "all 250 cases on all kernels. So do --cases N, with another number of cases, and --time T, until the time is over.\n\n"
      "Every kernel runs in a worker process on every case, twice, between guard pages. Each element of its results\n"
      "must lie in the interval that the operator's reference and the kernel's contract allow. Failures are shrunk and\n"
      "recorded; `assay replay FILE` runs one again. Rows of peers (other libraries: torch, onednn, openblas, ...) decide\n"
      "the exit code only if --impl names them.\n\n"
      "  assay verify                                   every operator, in two minutes\n"
      "  assay verify --thorough                        every case on every kernel\n"
      "  assay verify prelu 'softmax*' --dtype f32      two operators, one dtype\n"
      "  assay verify mm --plugin ./libmine.so --impl 'plugin:*'   your own kernel\n"
      "  assay verify silu --source silu.cu --impl 'plugin:*'      the same, compiled on the spot\n"
      "  assay verify silu --python my.py:silu --impl 'plugin:*'   a function of Python\n"
      "  assay verify mm --plugin ./libmine.so --impl 'plugin:*' --coverage   and what of its code nothing has run\n"
      "  assay verify --case prelu:f32:self=2x6x5x7,weight=6:seed=1\n"
      "  assay verify --cases-from ci/cpu_cases.txt 'softmax*'   those of a list that are of these operators\n"
      "  assay verify 'softmax*' --impl cuda.emulated --check   CUDA kernels without a GPU, under a checker\n"
      "  assay verify mm --impl torch --contract strict  another library by the strictest contract, not by what it is known to do\n"
      "  assay verify --fixtures cases/fixtures         recorded cases; what was recorded is judged too\n\n"
      "--contract: case files and run.json keep it, and `assay replay` judges by it again; with --fixtures, recorded results are\n"
      "judged by it, too. `strict` takes back all that kernels declare of their numbers and bits; how they are to be called (alignment,\n"
      "in_place) stays.\n\n"
      "--coverage: build the plugin with\n"
      "  clang -g -fsanitize-coverage=trace-pc-guard,pc-table,trace-cmp ...   or\n"
      "  gcc -g -fsanitize-coverage=trace-pc,trace-cmp ...                    as well as with its other flags, -fPIC -shared.\n"
      "Each row then says how many blocks of its functions ran in cases that were judged, and which lines did not. Sizes, strides and\n"
      "attributes are set to what the kernel compares them with, so that branches for certain sizes are tried. Needs llvm-symbolizer\n"
      "or addr2line for lines; without, places are offsets.\n\n"
      "--sanitize thread: build the plugin with gcc or clang -g -fsanitize=thread, as well as with its other flags. GCC's libtsan is loaded\n"
      "into its processes, also by `assay replay`, and without the flag; a report ends the call, which is then a memory fault that names\n"
      "both places. Plugins that are linked with libgomp (-fopenmp of GCC) are turned down: the sanitizer does not see its barriers.\n\n"
      "Exit codes: 0 all well; 1 a fault was found; 2 wrong usage, unreadable input, or output that cannot be written;\n"
      "3 the environment lacks what was asked for, something could not be run (also a kernel that --impl names, not by a glob),\n"
      "or nothing ran; 130 interrupted.\n"
      "A run that --time cuts short exits by what it did. A fifth of it, one minute at most, is for failures if there are any. Without\n"
      "--time a row's failures get 10 s for the search for a cause and 20 s for each smaller case, and all rows together five minutes;\n"
      "a failure for which that did not suffice says so.\n"
      "Ctrl-C, SIGTERM, or SIGHUP (a terminal that closes; not under nohup) ends a run within about two seconds: what it did is reported and written.\n"
      "After SIGKILL, `assay report DIR/run.json` has what was finished; --resume goes on with the same command line. An earlier DIR/run.json is\n"
      "moved to run-2.json. A kernel of which five calls in a row exceed --timeout is given up for the rest of its row.");
  auto flags = std::make_shared<VerifyFlags>();
  VerifyOptions& o = flags->options;
  add_choice(*command, o.patterns, flags->dtypes);
  add_graphs(*command);
  command
      ->add_option("--impl", o.impls,
                   "shell globs on kernel names (cpu.avx2, 'cpu.*', torch); '!cuda.*': all but these")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("GLOB");
  flags->contract =
      command
          ->add_option(
              "--contract", o.contract,
              "judge every kernel by these fields whatever it declares, or by `strict`, the strictest contract, and fields "
              "after it ('strict chain=partial(16)'); fields that are not named stay as declared; `assay ops --help` explains them")
          ->type_name("TEXT");
  CLI::Option* only = command->add_option("--case", flags->only, "this case only, as printed by any command")
                          ->type_name("TEXT");
  CLI::Option* list =
      command
          ->add_option("--cases-from", flags->list,
                       "the cases of this file, one a line; braces stand for many, as in a shell: "
                       "relu:{f32,f64}:self={1..40}; # begins a comment")
          ->type_name("FILE")
          ->excludes(only);
  CLI::Option* fixtures =
      command
          ->add_option(
              "--fixtures", flags->fixtures,
              "recorded cases with results that others made: a case file (.h5), a folder of "
              "them or of ONNX tests, `onnx` for those of libonnx-testdata, or `opinfo` for PyTorch's samples")
          ->type_name("PATH|NAME")
          ->excludes(only)
          ->excludes(list);
  command
      ->add_option(
          "--plugin,--python,--source", flags->plugins,
          "a shared library of kernels (assay/kernel.h); its source text, silu.c or silu.cu; or a function of Python: my.py:silu, "
          "softmax.int=my.py:softmax, package.module:silu; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command
      ->add_option(
          "--env", flags->variables,
          "an environment variable of the kernels' processes (ATEN_CPU_CAPABILITY=avx2, or OMP_NUM_THREADS=4, which is 1 "
          "whatever the shell says); may be repeated; case files keep it")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command->add_flag(
      "--check", flags->check,
      "run kernels of cuda.emulated with each access to memory looked at: races, bounds, what nobody has "
      "written, alignment; and count sectors and bank conflicts by line");
  const WorkFlags work = add_work(*command, o.cases, o.seed, o.jobs);
  flags->cases = work.cases;
  command->add_flag("--thorough", flags->thorough, "all 250 cases on all kernels, in place of the short run")
      ->excludes(work.cases)
      ->excludes(only)
      ->excludes(list)
      ->excludes(fixtures);
  for (CLI::Option* instead : {fixtures, list}) {
    work.cases->excludes(instead);
    work.seed->excludes(instead);
  }
  command->add_option("--time", flags->time, "stop after this long; says how many cases were not run")
      ->type_name("60s");
  command
      ->add_option("--shrink", o.shrink_budget,
                   "runs to spend on making a failing case smaller; 0: it is recorded as it was found")
      ->check(whole_number())
      ->capture_default_str()
      ->type_name("N");
  command->add_flag(
      "--classes", flags->classes,
      "list which classes of calls were judged in each row, which only refused, and which never called");
  command
      ->add_option(
          "--sanitize", flags->sanitize,
          "thread: the plugins were compiled with -fsanitize=thread, and data races that it reports are their faults")
      ->type_name("thread");
  command->add_flag(
      "--coverage", flags->coverage,
      "of kernels built with -fsanitize-coverage: name the lines and blocks of their code that no judged case ran, and draw up to as "
      "many cases again towards those (below)");
  command->add_flag(
      "--strict-coverage", o.strict_coverage,
      "a row fails that has gaps: fewer judged cases than half of those asked for (100 at most), or a class "
      "of ordinary calls of which every one was refused");
  command
      ->add_option(
          "--may-refuse", o.may_refuse,
          "a shell glob on reasons: calls refused for these are no gaps ('only groups 1'); may be repeated")
      ->allow_extra_args(false)
      ->type_name("GLOB");
  add_resume(*command, flags->resume);
  command->add_option("--shard", flags->shard, "run this part only; `assay merge` joins the parts")
      ->capture_default_str()
      ->type_name("I/N");
  flags->timeout_given = command->add_option(
      "--timeout", flags->timeout,
      "seconds that one call may take, rounded up to milliseconds; 60 with --check, under which calls take long");
  flags->timeout_given->check(positive_number())->capture_default_str()->type_name("S");
  command->add_option("--json", flags->json, "write a run file; - is standard output")->type_name("F");
  command->add_option("--junit", flags->junit, "write JUnit XML; - is standard output")->type_name("F");
  command
      ->add_option("--html", flags->html,
                   "write a page for a browser, as `assay report` does; - is standard output")
      ->type_name("F");
  command
      ->add_option("--out", flags->out,
                   "folder for case files and run.json (default: $ASSAY_OUT or assay-out)")
      ->type_name("DIR");
  command->callback([flags, &chosen] { chosen = [flags] { return verify_command(*flags); }; });
}

}  // namespace assay
