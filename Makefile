# The build of pinstep. A bare `make` configures itself and builds whatever this machine allows.
#
# Targets
#   quickstart   as root: a Slurm cluster on this machine, with a pinned environment and a training job in it;
#                installs what is missing, below $(QUICKSTART) (build/quickstart) and as packages;
#                CHANNEL=conda-forge takes packages from there, where it can be reached
#   all          programs and plugin (the default)
#   tests        unit tests and test programs as well
#   check        build and run the tests: minutes; installs what is missing when run by root (DEPS below)
#   check-full   all tests: about an hour
#   fuzz         fuzz every parser, in all MINUTES=n (10)
#   bench        paired performance measurements
#   install      into $(DESTDIR) and the directories below, never using a network
#   uninstall    take it out; before that the lines that name it in slurm.conf (TaskProlog), plugstack.conf
#   dist         build/pinstep-VERSION.tar.gz of the last commit, configure included
#   dist-binary  build/pinstep-VERSION-linux-MACHINE.tar.gz: all but plugin and worker, for any distribution:
#                static programs; its README says what they need. Wants the libraries' archives (*.a)
#   clean        remove what was built;  distclean: also what configure, deps and deps-slurm made
#   configure    make only ./configure, to run it with options: see ./configure --help
#   deps         install the packages that building and testing need (TIER=build|test|cluster|full);
#                starts no service; without root changes nothing and lists what is missing;
#                DEPS_FROM=DIR in the environment: from there instead of from a network
#   deps-download  fetch into DIR what deps needs, for a machine without a network (DIR=, TIER=)
#   deps-slurm   make a second Slurm under build/slurm-24.11, for the tests of other series
#   localchannel make a conda channel from installed Debian packages in build/localchannel, see
#                contrib/localchannel; nothing is done if it is there
#   format       clang-format the sources;  lint: say what format, man pages and URLs need
#   help         print this
#
# Variables, on the command line (what configure found can be overridden too, see config.mk)
#   V=1          show commands
#   DEVELOPER=1  warnings are errors (also with CI=true)
#   SANITIZE=address,undefined   build that way, into build/asan
#   BUILD=DIR    where everything made goes
#   CPPFLAGS, CFLAGS, CXXFLAGS, LDFLAGS, LIBS   yours; what pinstep needs is added to them
#   prefix, exec_prefix, bindir, libexecdir, libdir, plugindir, datadir, mandir, sysconfdir, DESTDIR
#   DEPS=no      check installs nothing and stops with a list of what is missing; DEPS=ignore goes on
#
# Where things are
#   envtools/, launcher/, plugin/   a directory is one concern; DIR/*.cc is all of it
#   $(BUILD)/lib, bin               what gets installed; tests, fuzz: what does not
#   $(BUILD)/obj*/FILE.o            one tree of objects for each way of compiling

BUILD = build
ifdef SANITIZE
BUILD = build/asan
endif

QUICKSTART = $(BUILD)/quickstart
CHANNEL = localchannel
MINUTES = 10
TIER = cluster

plugindir = $(libdir)/pinstep

# ---- What configure found

all:

# These work on a machine that has nothing yet: they do not configure.
UNCONFIGURED = quickstart check check-full fuzz bench clean distclean configure deps deps-download deps-slurm \
	localchannel format help lint

configure: configure.ac
	@command -v autoconf >/dev/null || \
		{ echo "autoconf is missing: 'make deps' installs or lists what is needed" >&2; exit 1; }
	$(call quiet,GEN)autoconf && rm -rf autom4te.cache configure~

ifneq ($(filter-out $(UNCONFIGURED),$(or $(MAKECMDGOALS),all)),)
config.mk: configure config.mk.in
	@if test -x config.status; then \
		./config.status --quiet --recheck && ./config.status --quiet; \
	else \
		./configure --quiet; \
	fi || { echo "'make deps' installs or lists what is needed" >&2; exit 1; }
include config.mk
else
-include config.mk
endif

# ---- Flags

INCLUDES = -I. -I$(BUILD)/gen
WARNINGS = -Wall -Wextra
ifneq ($(DEVELOPER)$(filter true 1,$(CI)),)
WARNINGS += -Werror
endif

ifdef SANITIZE
INSTRUMENT = -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
STATIC =
else
# The C library's checks need optimisation and say so loudly where there is none.
FORTIFY = $(if $(filter-out -O0,$(filter -O%,$(CXXFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif

# Every object may end up in the plugin, so all are position independent and hide what they define.
CODEGEN = -fPIC -fvisibility=hidden $(HARDENING) $(INSTRUMENT)

compile_c   = -std=gnu11 $(INCLUDES) $(FORTIFY) $(CPPFLAGS) $(WARNINGS) $(CODEGEN) $(CFLAGS)
compile_cxx = -std=c++20 $(INCLUDES) $(FORTIFY) $(CPPFLAGS) $(WARNINGS) $(CODEGEN) $(CXXFLAGS)
fuzz_checks = address,undefined
link        = $(HARDENING_LD) $(INSTRUMENT) $(LDFLAGS)
link_plugin = -shared $(STATIC_RUNTIME) -Wl,--version-script=plugin/pinstep.lds -Wl,--exclude-libs,ALL

# ---- Sources

# The small library: what plugin and launcher share. No YAML, JSON, fmt or hwloc in here.
LIB_DIRS = \
	envtools/activation \
	envtools/base \
	envtools/config \
	envtools/pin \
	launcher/advice \
	launcher/allowed \
	launcher/assign \
	launcher/bind \
	launcher/exports \
	launcher/machine \
	launcher/mapfile \
	launcher/picture \
	launcher/prepare \
	launcher/rendezvous \
	launcher/step

# The environment side: from a spec to a prefix. Each program links what it calls of it and no more.
ENV_DIRS = \
	envtools/build \
	envtools/channel \
	envtools/doctor \
	envtools/execute \
	envtools/fetch \
	envtools/hash \
	envtools/init \
	envtools/json \
	envtools/lint \
	envtools/lock \
	envtools/package \
	envtools/piplock \
	envtools/plan \
	envtools/profile \
	envtools/record \
	envtools/resolve \
	envtools/solver \
	envtools/spec \
	envtools/store \
	envtools/wheel \
	envtools/yaml

# One rank of a training run, where configure found what it needs.
WORKER_DIRS = \
	launcher/worker/bench \
	launcher/worker/check \
	launcher/worker/checkpoint \
	launcher/worker/cli \
	launcher/worker/data \
	launcher/worker/device \
	launcher/worker/model \
	launcher/worker/reducer \
	launcher/worker/report \
	launcher/worker/store \
	launcher/worker/train \
	launcher/worker/transport \
	launcher/worker/units

LIB_SRC    = $(wildcard $(LIB_DIRS:=/*.cc))
ENV_SRC    = $(filter-out %_main.cc,$(wildcard $(ENV_DIRS:=/*.cc)))
CLI_SRC    = $(wildcard envtools/cli/*.cc)
LAUNCH_SRC = $(wildcard launcher/launch/*.cc)
MAP_SRC    = $(wildcard launcher/map/*.cc)
VERIFY_MAIN = launcher/verify/main.cc
VERIFY_SRC  = $(filter-out $(VERIFY_MAIN),$(wildcard launcher/verify/*.cc))
# How ranks exchange a few words; needs nothing that a worker needs.
STORE_SRC   = $(filter-out %/pmix.cc,$(wildcard launcher/worker/store/*.cc))
BUILD_MAIN = envtools/build/build_main.cc
FETCH_MAIN = envtools/fetch/fetch_main.cc

# What the node has, where configure found what reads that. For pinstep-map, unit tests and fuzzers.
TOPOLOGY_SRC  = $(if $(WITH_MAP),$(wildcard launcher/topology/*.cc))
TOPOLOGY_LIBS = $(if $(WITH_MAP),$(HWLOC_LIBS) $(PUGIXML_LIBS))

# Compiled twice: a worker that adds nothing up must be noticed by the tests, and one that hangs by the others.
FLIGHT_SRC  = launcher/worker/transport/flight.cc
REDUCER_SRC = launcher/worker/reducer/reducer.cc
WORKER_MAIN = launcher/worker/cli/worker_main.cc
WORKER_SRC  = $(filter-out $(WORKER_MAIN) $(REDUCER_SRC) $(FLIGHT_SRC),$(wildcard $(WORKER_DIRS:=/*.cc)))

# Two files touch Slurm; the rest of the plugin is tested without it.
PLUGIN_SRC   = $(wildcard plugin/*.cc)
SLURM_SRC    = plugin/hooks.cc plugin/slurm_api.cc
DECISION_SRC = $(filter-out $(SLURM_SRC),$(PLUGIN_SRC))

UNIT_SRC    = $(filter-out $(if $(WITH_MAP),,tests/unit/launcher/topology/%), \
	$(wildcard tests/unit/*.cc tests/unit/*/*.cc tests/unit/*/*/*.cc))
WORKER_UNIT_SRC = $(wildcard tests/unit/launcher/worker/*/*.cc tests/unit/support/*.cc) tests/unit/deliberate_test.cc
WORKER_BENCH_SRC = $(wildcard tests/bench/*.cc)
FAULT_SRC   = $(wildcard tests/faults/*.cc)
WORKER_FUZZ_SRC = tests/fuzz/checkpoint.cc tests/fuzz/idx.cc tests/fuzz/run_log.cc tests/fuzz/wire.cc
WORKER_PARSERS  = $(if $(WITH_WORKER),$(wildcard launcher/worker/data/*.cc) launcher/worker/checkpoint/checkpoint.cc launcher/worker/store/wire.cc \
	launcher/worker/report/run_log.cc launcher/worker/report/run_summary.cc launcher/worker/report/svg.cc \
	launcher/worker/report/text.cc launcher/worker/bench/interval.cc)
MAP_FUZZ_SRC    = $(wildcard tests/fuzz/*_topology.cc)
FUZZ_SRC    = $(filter-out $(if $(WITH_WORKER),,$(WORKER_FUZZ_SRC)) $(if $(WITH_MAP),,$(MAP_FUZZ_SRC)), \
	$(wildcard tests/fuzz/*.cc))
PROGRAM_SRC = $(wildcard tests/programs/*.cc tests/programs/*.c)
PMIX_SRC    = $(wildcard contrib/minicluster/check/pmix_*.c)
MPI_SRC     = $(wildcard contrib/minicluster/check/*_mpi.c)

object        = $(patsubst %,$(BUILD)/obj/%.o,$(basename $1))
faults_object = $(patsubst %,$(BUILD)/obj-faults/%.o,$(basename $1))
series_object = $(patsubst %,$(BUILD)/obj-series/%.o,$(basename $1))
halts_object  = $(patsubst %,$(BUILD)/obj-halts/%.o,$(basename $1))
mute_object   = $(patsubst %,$(BUILD)/obj-mute/%.o,$(basename $1))
fuzz_object   = $(patsubst %,$(BUILD)/obj-fuzz/%.o,$(basename $1))
program       = $(patsubst %,$(BUILD)/tests/%,$(notdir $(basename $1)))

# ---- What is built of them

# A plugin belongs to the Slurm series whose headers it saw; the tests load one of another series too.
SERIES_ROOT = build/slurm-24.11

LIB      = $(BUILD)/lib/libpinstep.a
ENV_LIB  = $(BUILD)/lib/libpinstep-env.a
PROGRAMS = $(BUILD)/bin/pinstep $(BUILD)/bin/pinstep-launch
WORKER   = $(if $(WITH_WORKER),$(BUILD)/bin/pinstep-worker)
# Called by pinstep and pinstep-launch only, which find them beside their own directory.
PRIVATE_PROGRAMS = $(BUILD)/libexec/pinstep/pinstep-build $(BUILD)/libexec/pinstep/pinstep-fetch \
	$(BUILD)/libexec/pinstep/pinstep-verify $(if $(WITH_MAP),$(BUILD)/libexec/pinstep/pinstep-map)
# The solver's back ends, in Python, and what they need; run by the venv that pinstep setup makes.
SOLVER   = $(patsubst envtools/solver/%,$(BUILD)/libexec/pinstep/solver/%, \
	$(wildcard envtools/solver/*.py) envtools/solver/requirements.txt)
PLUGIN   = $(if $(WITH_PLUGIN),$(BUILD)/lib/pinstep.so)

# The same programs linked statically, but for the one with libcurl and the one that loads libraries of the
# environment, and what their libraries need in turn.
BINARY          = $(BUILD)/binary
BINARY_PROGRAMS = $(patsubst $(BUILD)/%,$(BINARY)/%,$(PROGRAMS) $(PRIVATE_PROGRAMS))
BINARY_FETCH    = $(BINARY)/libexec/pinstep/pinstep-fetch
BINARY_VERIFY   = $(BINARY)/libexec/pinstep/pinstep-verify
BINARY_STATIC   = $(filter-out $(BINARY_FETCH) $(BINARY_VERIFY),$(BINARY_PROGRAMS))
BINARY_LIBS     = -lnettle -llzma -lbz2 -lz -lpthread
BINARY_SRC      = contrib/packaging/binary/static.c

TEST_PLUGINS  = $(if $(WITH_PLUGIN),$(BUILD)/tests/pinstep-faults.so \
	$(if $(wildcard $(SERIES_ROOT)/usr/include/slurm/spank.h),$(BUILD)/tests/pinstep-series.so))
UNIT          = $(if $(GTEST_LIBS),$(BUILD)/tests/unit)
WORKER_UNIT   = $(if $(and $(WITH_WORKER),$(GTEST_LIBS)),$(BUILD)/tests/worker_unit)
WORKER_MUTE   = $(if $(WITH_WORKER),$(BUILD)/tests/pinstep-worker-mute)
WORKER_BENCH  = $(if $(WITH_WORKER),$(call program,$(WORKER_BENCH_SRC)))
WORKER_HALTS  = $(if $(WITH_WORKER),$(BUILD)/tests/pinstep-worker-halts)
# Stand-ins for a library that comes with NVIDIA's driver, of a new and an old one.
TEST_LIBRARIES = $(BUILD)/tests/libnvml-stub.so $(BUILD)/tests/libnvml-stub-old.so
TEST_PROGRAMS = $(call program,$(PROGRAM_SRC) $(if $(PMIX_LIBS),$(PMIX_SRC)) $(if $(MPICC),$(MPI_SRC)))
FUZZERS       = $(if $(FUZZ_CXX),$(FUZZ_SRC:tests/fuzz/%.cc=$(BUILD)/fuzz/%))

all: $(PROGRAMS) $(WORKER) $(PRIVATE_PROGRAMS) $(SOLVER) $(PLUGIN)
tests: all $(UNIT) $(WORKER_UNIT) $(WORKER_MUTE) $(WORKER_HALTS) $(WORKER_BENCH) $(TEST_PLUGINS) $(TEST_LIBRARIES) \
	$(TEST_PROGRAMS)
fuzzers: $(FUZZERS)

# ---- Rules

.SUFFIXES:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

ifndef V
Q = @
endif
quiet = $(if $(V),,@printf '  %-6s %s\n' $1 $(or $2,'$@');)

# These files change only when their content does, and with them whatever depends on them.
replace_if_changed = if cmp -s $@+ $@; then rm $@+; else mv $@+ $@; fi
record = @mkdir -p $(@D); echo '$(subst ','\'',$1)' >$@+; $(replace_if_changed)

FORCE:

$(BUILD)/compile-flags: FORCE
	$(call record,$(CC) $(compile_c) | $(CXX) $(compile_cxx) \
		| $(SLURM_INCLUDE) | $(PMIX_CPPFLAGS) | $(PMIX_LIBS) | $(BLAS_CPPFLAGS) | $(DNNL_CPPFLAGS) $(DNNL_LIBS) | $(HWLOC_CPPFLAGS) $(PUGIXML_CPPFLAGS) | $(MPICC) | $(FUZZ_CXX))

# Sources are in it too, so that the code of a file that is gone does not stay.
$(BUILD)/link-flags: FORCE
	$(call record,$(link) | $(link_plugin) | $(STATIC) | $(LIBS) | $(GTEST_LIBS) | $(PMIX_LIBS) \
		| $(YAML_LIBS) $(CRYPTO_LIBS) $(ARCHIVE_LIBS) $(ZSTD_LIBS) $(CURL_LIBS) \
		| $(TOPOLOGY_LIBS) $(GLOO_LIBS) $(BLAS_LIBS) $(DNNL_LIBS) $(ZLIB_LIBS) | $(WORKER_SRC) $(WORKER_UNIT_SRC) \
		| $(LIB_SRC) $(ENV_SRC) $(CLI_SRC) $(LAUNCH_SRC) $(MAP_SRC) $(TOPOLOGY_SRC) $(VERIFY_SRC) $(STORE_SRC) $(PLUGIN_SRC) $(UNIT_SRC) $(FAULT_SRC))

$(BUILD)/gen/pinstep_config.h: FORCE
	@mkdir -p $(@D); { echo '#pragma once'; printf '#define %s "%s"\n' \
		PINSTEP_VERSION '$(VERSION)' \
		PINSTEP_BINDIR '$(bindir)' \
		PINSTEP_LIBEXECDIR '$(libexecdir)/pinstep' \
		PINSTEP_SYSCONFDIR '$(sysconfdir)' \
		SLURM_BINDIR '$(SLURM_BINDIR)'; } >$@+; $(replace_if_changed)

made_first = $(BUILD)/compile-flags | $(BUILD)/gen/pinstep_config.h

c_compiler = $(CC)

# compile SAID,COMPILER AND FLAGS: the recipe of an object; notes the headers it saw beside it.
compile = $(call quiet,$1)mkdir -p $(@D) && $2 -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

$(BUILD)/obj/%.o: %.cc $(made_first)
	$(call compile,CXX,$(CXX) $(compile_cxx))

$(BUILD)/obj/%.o: %.c $(made_first)
	$(call compile,CC,$(c_compiler) $(compile_c))

$(BUILD)/obj-faults/%.o: %.cc $(made_first)
	$(call compile,CXX,$(CXX) $(compile_cxx) -DPINSTEP_FAULTS)

$(BUILD)/obj-halts/%.o: %.cc $(made_first)
	$(call compile,CXX,$(CXX) $(compile_cxx) -DPINSTEP_HALTS)

$(BUILD)/obj-mute/%.o: %.cc $(made_first)
	$(call compile,CXX,$(CXX) $(compile_cxx) -DPINSTEP_WITHOUT_ALL_REDUCE)

$(BUILD)/obj-series/%.o: %.cc $(made_first)
	$(call compile,CXX,$(CXX) -isystem $(BUILD)/gen/series $(compile_cxx))

$(BUILD)/obj-fuzz/%.o: private INSTRUMENT = -fsanitize=fuzzer-no-link,$(fuzz_checks) -fno-sanitize-recover=all
$(BUILD)/obj-fuzz/%.o: private FORTIFY =
$(BUILD)/obj-fuzz/%.o: %.cc $(made_first)
	$(call compile,CXX,$(FUZZ_CXX) $(compile_cxx))

# Slurm's headers alone: where they are, another system's C library may have its own beside them.
$(BUILD)/gen/slurm:  private from = $(SLURM_INCLUDE)
$(BUILD)/gen/series: private from = $(abspath $(SERIES_ROOT))/usr/include
$(BUILD)/gen/slurm $(BUILD)/gen/series: $(BUILD)/compile-flags
	@mkdir -p $@ && ln -sfn $(from)/slurm $@/slurm

ifdef SLURM_INCLUDE
$(call object,$(SLURM_SRC)) $(call faults_object,$(SLURM_SRC)): private INCLUDES += -isystem $(BUILD)/gen/slurm
$(call object,$(SLURM_SRC)) $(call faults_object,$(SLURM_SRC)): | $(BUILD)/gen/slurm
endif
$(call series_object,$(SLURM_SRC)): | $(BUILD)/gen/series
$(call object,$(PMIX_SRC)): private INCLUDES += $(PMIX_CPPFLAGS)
$(call object,launcher/worker/store/pmix.cc): private INCLUDES += $(if $(PMIX_LIBS),-DPINSTEP_WITH_PMIX $(PMIX_CPPFLAGS))
$(call object,launcher/worker/device/cpu_device.cc): private INCLUDES += $(BLAS_CPPFLAGS)
$(call object,launcher/worker/device/cpu_convolution.cc): private INCLUDES += $(if $(DNNL_LIBS),-DPINSTEP_WITH_ONEDNN $(DNNL_CPPFLAGS))
# These loops are compiled for several processors, and ranks on different ones must compute the same bits.
$(call object,launcher/worker/device/cpu_loops.cc): private CODEGEN += -ffp-contract=off
$(call object,launcher/worker/device/cpu_loops.cc): private CXXFLAGS += -O3 -fno-math-errno
$(call object,$(TOPOLOGY_SRC)) $(call fuzz_object,$(TOPOLOGY_SRC)): private INCLUDES += $(HWLOC_CPPFLAGS) $(PUGIXML_CPPFLAGS)
$(call object,$(MPI_SRC)): private c_compiler = $(MPICC)

$(LIB): $(call object,$(LIB_SRC)) $(BUILD)/link-flags
$(ENV_LIB): $(call object,$(ENV_SRC)) $(BUILD)/link-flags
$(LIB) $(ENV_LIB):
	$(call quiet,AR)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

# Programs: how each is linked, of what, and one rule for all.
linker = $(CXX)
how = -pie
$(BUILD)/bin/pinstep-launch: private how = $(or $(STATIC),-pie)
$(BUILD)/tests/%-static:     private how = $(or $(STATIC),-pie)
$(BUILD)/bin/pinstep:        private needs = $(ENV_LIB) $(YAML_LIBS) $(CRYPTO_LIBS)
$(BUILD)/libexec/%-build:    private needs = $(ENV_LIB) $(YAML_LIBS) $(CRYPTO_LIBS) $(ARCHIVE_LIBS) $(ZSTD_LIBS) -lpthread
$(BUILD)/libexec/%-fetch:    private needs = $(ENV_LIB) $(CRYPTO_LIBS) $(CURL_LIBS) -lpthread
$(BUILD)/libexec/%-map:      private needs = $(TOPOLOGY_LIBS)
$(BUILD)/libexec/%-verify:   private needs = $(ENV_LIB) -lpthread
$(BUILD)/tests/unit:         private needs = $(ENV_LIB) $(YAML_LIBS) $(CRYPTO_LIBS) $(ARCHIVE_LIBS) $(ZSTD_LIBS) \
	$(CURL_LIBS) $(TOPOLOGY_LIBS) $(GTEST_LIBS)
$(WORKER) $(WORKER_UNIT) $(WORKER_MUTE) $(WORKER_HALTS) $(WORKER_BENCH): private needs = $(ENV_LIB) $(GLOO_LIBS) $(BLAS_LIBS) $(DNNL_LIBS) $(ZLIB_LIBS) $(PMIX_LIBS) \
	$(CRYPTO_LIBS) $(if $(findstring worker_unit,$@),$(GTEST_LIBS)) -lpthread
$(BINARY_STATIC):            private how = $(STATIC)
$(BINARY_FETCH) $(BINARY_VERIFY): private how = -pie $(STATIC_RUNTIME)
$(BINARY_VERIFY):            private needs = $(ENV_LIB) -lpthread
$(BINARY)/bin/pinstep:       private needs = $(ENV_LIB) $(YAML_LIBS) $(CRYPTO_LIBS) $(BINARY_LIBS)
$(BINARY)/libexec/%-build:   private needs = $(ENV_LIB) $(YAML_LIBS) $(ARCHIVE_LIBS) $(ZSTD_LIBS) $(CRYPTO_LIBS) $(BINARY_LIBS)
$(BINARY)/libexec/%-fetch:   private needs = $(ENV_LIB) $(CRYPTO_LIBS) $(CURL_LIBS) -lpthread
$(BINARY)/libexec/%-map:     private needs = $(TOPOLOGY_LIBS)
$(call program,$(PMIX_SRC)): private needs = $(PMIX_LIBS)
$(call program,$(MPI_SRC)):  private linker = $(MPICC)

$(BUILD)/bin/pinstep:        $(call object,$(CLI_SRC))
$(BUILD)/bin/pinstep-launch: $(call object,$(LAUNCH_SRC))
$(BUILD)/libexec/pinstep/pinstep-build: $(call object,$(BUILD_MAIN))
$(BUILD)/libexec/pinstep/pinstep-fetch: $(call object,$(FETCH_MAIN))
$(BUILD)/libexec/pinstep/pinstep-map: $(call object,$(MAP_SRC) $(TOPOLOGY_SRC))
$(BUILD)/libexec/pinstep/pinstep-verify: $(call object,$(VERIFY_MAIN) $(VERIFY_SRC) $(STORE_SRC))
$(BUILD)/bin/pinstep $(PRIVATE_PROGRAMS) $(UNIT): $(ENV_LIB)
$(BINARY)/bin/pinstep:        $(call object,$(CLI_SRC))
$(BINARY)/bin/pinstep-launch: $(call object,$(LAUNCH_SRC))
$(BINARY)/libexec/pinstep/pinstep-build: $(call object,$(BUILD_MAIN))
$(BINARY)/libexec/pinstep/pinstep-fetch: $(call object,$(FETCH_MAIN))
$(BINARY)/libexec/pinstep/pinstep-map: $(call object,$(MAP_SRC) $(TOPOLOGY_SRC))
$(BINARY)/libexec/pinstep/pinstep-verify: $(call object,$(VERIFY_MAIN) $(VERIFY_SRC) $(STORE_SRC))
$(BINARY_PROGRAMS): $(ENV_LIB)
$(BINARY_STATIC): $(call object,$(BINARY_SRC))
ifdef WITH_WORKER
$(WORKER) $(WORKER_UNIT) $(WORKER_MUTE) $(WORKER_HALTS) $(WORKER_BENCH): $(call object,$(WORKER_SRC)) $(ENV_LIB)
$(WORKER) $(WORKER_MUTE) $(WORKER_HALTS): $(call object,$(WORKER_MAIN))
$(WORKER) $(WORKER_UNIT) $(WORKER_HALTS) $(WORKER_BENCH): $(call object,$(REDUCER_SRC))
$(WORKER) $(WORKER_UNIT) $(WORKER_MUTE) $(WORKER_BENCH): $(call object,$(FLIGHT_SRC))
$(WORKER_BENCH): $(BUILD)/tests/%: $(BUILD)/obj/tests/bench/%.o
$(WORKER_HALTS):             $(call halts_object,$(FLIGHT_SRC))
$(WORKER_MUTE):              $(call mute_object,$(REDUCER_SRC))
$(WORKER_UNIT):              $(call object,$(WORKER_UNIT_SRC))
endif
$(BUILD)/tests/unit:         $(call object,$(UNIT_SRC) $(DECISION_SRC) $(TOPOLOGY_SRC) $(VERIFY_SRC))
$(foreach source,$(PROGRAM_SRC) $(PMIX_SRC) $(MPI_SRC), \
	$(eval $(call program,$(source)): $(call object,$(source))))

$(PROGRAMS) $(WORKER) $(PRIVATE_PROGRAMS) $(UNIT) $(WORKER_UNIT) $(WORKER_MUTE) $(WORKER_HALTS) $(WORKER_BENCH) $(TEST_PROGRAMS) $(BINARY_PROGRAMS): \
		$(LIB) $(BUILD)/link-flags
	$(call quiet,LINK)mkdir -p $(@D) && $(linker) $(how) $(link) -Wl,--as-needed -o $@ $(filter %.o,$^) \
		$(filter $(ENV_LIB),$(needs)) $(LIB) $(filter-out $(ENV_LIB),$(needs)) $(LIBS)

$(SOLVER): $(BUILD)/libexec/pinstep/solver/%: envtools/solver/%
	$(call quiet,COPY)mkdir -p $(@D) && cp $< $@

# Plugins: they may leave open only what the process that loads them provides.
$(BUILD)/lib/pinstep.so:          $(call object,$(PLUGIN_SRC))
$(BUILD)/tests/pinstep-faults.so: $(call faults_object,$(PLUGIN_SRC) $(FAULT_SRC))
$(BUILD)/tests/pinstep-series.so: $(call series_object,$(SLURM_SRC)) $(call object,$(DECISION_SRC))

$(PLUGIN) $(TEST_PLUGINS): $(LIB) plugin/pinstep.lds $(BUILD)/link-flags
	$(call quiet,LINK)mkdir -p $(@D) && $(CXX) $(link_plugin) $(link) -o $@ $(filter %.o,$^) $(LIB) $(LIBS)
	$(if $(SANITIZE),,@if nm -D --undefined-only $@ | grep -v -e @ -e ' w ' -e ' U s\(pank\|lurm\)_'; then \
		echo '$@: nothing defines these, nor does Slurm' >&2; exit 1; fi)

$(UNIT): | $(TEST_LIBRARIES)
$(BUILD)/tests/%-old.so: private old = -DNVML_STUB_OLD
$(TEST_LIBRARIES): tests/nvml/stub.cc $(BUILD)/compile-flags $(BUILD)/link-flags
	$(call quiet,LINK)mkdir -p $(@D) && $(CXX) -std=c++20 $(WARNINGS) $(CODEGEN) $(CXXFLAGS) $(old) -shared $(link) -o $@ $<

$(FUZZERS): $(BUILD)/fuzz/%: $(BUILD)/obj-fuzz/tests/fuzz/%.o
$(FUZZERS): $(call fuzz_object,$(LIB_SRC) $(ENV_SRC) $(DECISION_SRC) $(WORKER_PARSERS) $(TOPOLOGY_SRC) $(VERIFY_SRC)) $(BUILD)/link-flags
	$(call quiet,LINK)mkdir -p $(@D) && $(FUZZ_CXX) -fsanitize=fuzzer,$(fuzz_checks) $(LDFLAGS) -o $@ $(filter %.o,$^) \
		$(YAML_LIBS) $(CRYPTO_LIBS) $(ARCHIVE_LIBS) $(ZSTD_LIBS) $(CURL_LIBS) $(ZLIB_LIBS) $(TOPOLOGY_LIBS)

OBJECTS = \
	$(call object,$(LIB_SRC) $(ENV_SRC) $(BUILD_MAIN) $(FETCH_MAIN) $(CLI_SRC) $(LAUNCH_SRC) $(PLUGIN_SRC)) \
	$(call object,$(MAP_SRC) $(TOPOLOGY_SRC) $(VERIFY_MAIN) $(VERIFY_SRC) $(STORE_SRC)) \
	$(call object,$(UNIT_SRC) $(PROGRAM_SRC) $(PMIX_SRC) $(MPI_SRC)) \
	$(call faults_object,$(PLUGIN_SRC) $(FAULT_SRC)) \
	$(call series_object,$(SLURM_SRC)) \
	$(call object,$(WORKER_SRC) $(REDUCER_SRC) $(FLIGHT_SRC) $(WORKER_MAIN) $(WORKER_UNIT_SRC) $(WORKER_BENCH_SRC)) $(call halts_object,$(FLIGHT_SRC)) $(call mute_object,$(REDUCER_SRC)) \
	$(call fuzz_object,$(LIB_SRC) $(ENV_SRC) $(DECISION_SRC) $(WORKER_PARSERS) $(TOPOLOGY_SRC) $(VERIFY_SRC) $(FUZZ_SRC))
-include $(OBJECTS:.o=.d)

# ---- The first run

# For those who say nothing of it.
all_cpus = $(if $(filter -j%,$(MAKEFLAGS)),,-j$$(nproc))

quickstart:
	$(if $(filter-out 0,$(shell id -u)),$(error only root can start a Slurm cluster: sudo make quickstart))
	@echo "packages, build, a Slurm cluster, a training job in it: minutes the first time, then less than one"
	@contrib/packaging/deps ensure cluster
	$(Q)$(MAKE) --no-print-directory $(all_cpus) all
	$(Q)contrib/quickstart/quickstart --dir '$(QUICKSTART)' --build '$(BUILD)' --channel '$(CHANNEL)'

# ---- Tests

check bench:     private needed = cluster
check-full fuzz: private needed = full
check:           private run = check
check-full:      private run = full
bench:           private run = bench
fuzz:            private run = fuzz --minutes $(MINUTES)

check check-full bench fuzz:
	@contrib/packaging/deps ensure $(needed)
	$(Q)$(MAKE) --no-print-directory $(all_cpus) tests $(if $(filter fuzz,$@),fuzzers)
	$(Q)MAKEFLAGS= PINSTEP_TEST_BUILD='$(abspath $(BUILD))' tests/run $(run)

# ---- Installation: FILE:DIRECTORY of everything, for install and uninstall alike

INSTALLED = \
	$(patsubst %,%:$(bindir),$(PROGRAMS) $(WORKER)) \
	$(PRIVATE_PROGRAMS:%=%:$(libexecdir)/pinstep) \
	$(SOLVER:%=%:$(libexecdir)/pinstep/solver) \
	$(PLUGIN:%=%:$(plugindir)) \
	$(if $(WITH_PLUGIN),$(patsubst %,%:$(datadir)/pinstep/slurm,$(wildcard contrib/slurm/*))) \
	$(patsubst %,%:$(datadir)/bash-completion/completions,$(wildcard contrib/completions/*.bash)) \
	$(foreach page,$(wildcard man/*.[1-8]),$(page):$(mandir)/man$(subst .,,$(suffix $(page))))
OUR_DIRECTORIES = $(libexecdir)/pinstep/solver $(libexecdir)/pinstep $(plugindir) $(datadir)/pinstep/slurm $(datadir)/pinstep

# By rename: a running Slurm loads either the old plugin or the new one.
put = set -e; for item in $1; do \
		file=$${item%%:*} dir='$2'$${item\#*:}; \
		if test -x $$file; then mode=755; else mode=644; fi; \
		echo "  INSTALL $$dir/$${file\#\#*/}"; \
		test -d "$$dir" || install -d -m 755 "$$dir"; \
		install -m $$mode $$file "$$dir/$${file\#\#*/}+"; \
		mv -f "$$dir/$${file\#\#*/}+" "$$dir/$${file\#\#*/}"; \
	done

install: all
	@$(call put,$(INSTALLED),$(DESTDIR))

uninstall:
	@$(if $(WITH_PLUGIN),echo "  NOTE first out of slurm.conf: a TaskProlog that names task-prolog-guard (if its" \
		"file is missing every task of every user fails); then the line in plugstack.conf;" \
		"these files when the last job with an environment has ended";) \
	for item in $(INSTALLED); do \
		file=$${item%%:*} dir='$(DESTDIR)'$${item#*:}; \
		rm -f "$$dir/$${file##*/}"; \
	done; \
	for dir in $(OUR_DIRECTORIES); do \
		test ! -d '$(DESTDIR)'"$$dir" || rmdir --ignore-fail-on-non-empty '$(DESTDIR)'"$$dir"; \
	done

dist: configure
	$(call quiet,GEN,$(BUILD)/pinstep-$(VERSION).tar.gz)mkdir -p $(BUILD) && \
	git archive --prefix=pinstep-$(VERSION)/ --add-file=configure -o $(BUILD)/pinstep-$(VERSION).tar.gz HEAD

MACHINE = $(shell uname -m)
BINARY_NAME = pinstep-$(VERSION)-linux-$(MACHINE)
BINARY_TREE = $(BINARY)/$(BINARY_NAME)
IN_BINARY = \
	$(patsubst %,%:bin,$(filter $(BINARY)/bin/%,$(BINARY_PROGRAMS))) \
	$(patsubst %,%:libexec/pinstep,$(filter $(BINARY)/libexec/%,$(BINARY_STATIC)) \
		$(BINARY_VERIFY) contrib/packaging/binary/pinstep-fetch) \
	$(BINARY_FETCH):lib/pinstep \
	$(SOLVER:%=%:libexec/pinstep/solver) \
	$(patsubst %,%:share/bash-completion/completions,$(filter-out %-worker.bash,$(wildcard contrib/completions/*.bash))) \
	$(foreach page,$(filter-out man/pinstep-worker.1,$(wildcard man/*.[1-8])),$(page):share/man/man$(subst .,,$(suffix $(page)))) \
	LICENSE:. $(BINARY)/README:.

$(BINARY)/README: contrib/packaging/binary/README.in $(BUILD)/link-flags
	$(call quiet,GEN)mkdir -p $(@D) && sed -e 's/@VERSION@/$(VERSION)/g' -e 's/@MACHINE@/$(MACHINE)/g' \
		-e "s/@GLIBC@/$$(getconf GNU_LIBC_VERSION)/" $< >$@

dist-binary: $(BINARY_PROGRAMS) $(SOLVER) $(BINARY)/README
	$(if $(STATIC),,@echo 'no static C and C++ library: see ./configure' >&2; exit 1)
	$(Q)rm -rf $(BINARY_TREE) && mkdir -p $(BINARY_TREE)
	@$(call put,$(IN_BINARY),$(BINARY_TREE)/)
	$(Q)contrib/packaging/binary/bundle $(BINARY_FETCH) $(BINARY_TREE)/lib/pinstep $(BINARY_TREE)/share/doc/pinstep
	$(Q)strip $(BINARY_TREE)/bin/* $(BINARY_TREE)/libexec/pinstep/pinstep-[bmv]* $(BINARY_TREE)/lib/pinstep/pinstep-fetch
	$(call quiet,GEN,$(BUILD)/$(BINARY_NAME).tar.gz)tar -C $(BINARY) --owner=0 --group=0 -czf $(BUILD)/$(BINARY_NAME).tar.gz $(BINARY_NAME)

clean:
	rm -rf --one-file-system $(filter-out $(SERIES_ROOT)% $(BUILD)/wheels,$(wildcard $(BUILD)/*))

distclean: clean
	rm -rf --one-file-system build config.mk config.status config.log configure autom4te.cache

# ---- Packages

deps:
	@contrib/packaging/deps install $(TIER)

deps-download:
	@contrib/packaging/deps download $(TIER) '$(DIR)'

deps-slurm:
	contrib/minicluster/make-slurm-root $(SERIES_ROOT)

localchannel:
	contrib/localchannel/make-channel --output $(BUILD)/localchannel

# ---- Source care

help:
	@sed -n -e '/^#/!q' -e 's/^# \{0,1\}//p' Makefile

# Other versions format otherwise.
CLANG_FORMAT = clang-format-14
FORMATTED = git ls-files '*.cc' '*.h' '*.c'
# A URL in a tracked file must belong to one of these: pinstep names no registry or mirror.
URL_HOSTS = apache\.org|gnu\.org|schedmd\.com|example\.(com|org)|localhost|127\.0\.0\.1

format:
	$(Q)$(CLANG_FORMAT) -i $$($(FORMATTED))

lint:
	$(Q)$(CLANG_FORMAT) --dry-run -Werror $$($(FORMATTED))
	$(Q)$(if $(wildcard man/*.[1-8]),mandoc -T lint -W warning $(wildcard man/*.[1-8]))
	$(Q)! git grep -nIoE 'https?://([A-Za-z0-9:@._-]+@)?[A-Za-z0-9.-]+' | grep -vE '(//|@|\.)($(URL_HOSTS))$$'

.PHONY: FORCE all quickstart tests fuzzers check check-full fuzz bench install uninstall dist clean distclean \
	deps deps-download deps-slurm localchannel format help lint
