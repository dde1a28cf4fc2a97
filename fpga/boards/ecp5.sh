#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fpga/route.sh and fpga/build.sh source this file: it has synthesis for Lattice ECP5, place and route, a report, and a
# cache of what came of it. The caller sets root and fail.

# Parameters of a configuration, as the reader of the RTL takes them.
ecp5_parameters() { # ecp5_parameters CONFIGURATION
  local found=""
  [[ ! $1 =~ ^[a-z0-9-]+$ ]] || found=$(sed -n "s/^set(UFP4_CONFIGURATION_$1 \(.*\))$/\1/p" "$root/rtl/gen/configurations.cmake")
  [[ -n $found ]] || fail 2 "no configuration is called '$1'"
  echo "$found"
}

# Sets yosys, nextpnr and ecppack; the launcher installs what is missing.
ecp5_tools() {
  local tool folder
  for tool in yosys nextpnr-ecp5 ecppack; do
    [[ -x $root/.venv/bin/yowasp-$tool ]] || command -v "yowasp-$tool" >/dev/null || {
      folder=$("$root/ufp4" fpga-tools) || exit 3
      PATH=$folder:$PATH
    }
  done
  for tool in yosys nextpnr-ecp5 ecppack; do
    [[ -x $root/.venv/bin/yowasp-$tool ]] && folder=$root/.venv/bin/yowasp-$tool || folder=$(command -v "yowasp-$tool") ||
      fail 3 "yowasp-$tool is missing; ./ufp4 fpga-tools installs it"
    printf -v "${tool%%-*}" %s "$folder"
  done
}

# Reads the board.sh of a board, for a configuration and a size of it, 25F say, or nothing for the usual one: sets
# device, sizes, package, speed, loader, files and parameters, and made_by where a script writes more Verilog; and
# size_name, and bitstream, what its file is called.
ecp5_board() { # ecp5_board BOARD CONFIGURATION SIZE
  local configuration=$2 size=${3,,} usual known
  made_by=""
  size=${size/%f/k}
  [[ $1 =~ ^[a-z0-9_]+$ && -r $root/fpga/boards/$1/board.sh ]] ||
    fail 2 "no board '$1'; there are: $(cd "$root/fpga/boards" && dirname */board.sh | paste -sd " ")"
  . "$root/fpga/boards/$1/board.sh"
  usual=$device device=${size:-$device}
  for known in $sizes; do [[ $known != "$device" ]] || break; done
  [[ $known == "$device" ]] || fail 2 "$1 is not sold as '$3'; there are: ${sizes//k/F}"
  size_name=${device/k/F}
  [[ $device == "$usual" ]] && bitstream=$1-$configuration.bit || bitstream=$1-$size_name-$configuration.bit
}

# The files that a list names, and the list.
ecp5_files() { # ecp5_files LIST...
  local list
  for list in "$@"; do
    echo "$list"
    sed "/^\/\//d;/^$/d;s|^|$(dirname "$list")/|" "$list"
  done
}

# Makes CACHE/KEY of what the sources, the options and the tools are, unless it is there: the report, and with pins a bitstream
# KEY.bit. Sets made, its name: of several seeds, which are routed side by side, the first with no clock that is too slow, or
# else the first. The sources are lists and files below root, and what is in the folder generated, if the caller has set it:
# Verilog that takes the place of modules without a body, and files that it reads.
#   ecp5_make TITLE TOP "PARAMETERS" "LISTS" "FILES" DEVICE "SEED ..." "NEXTPNR OPTIONS" [PINS]
ecp5_make() {
  local title=$1 top=$2 parameters=$3 lists=$4 files=$5 device=$6 seeds=$7 options=$8 pins=${9:-} limit=${UFP4_ROUTE_SECONDS:-3600}
  local cache netlist seed key jobs=()
  routes=()
  # Named from where the caller is.
  cache=$(realpath -m "${XDG_CACHE_HOME:-$HOME/.cache}")/ufp4/route
  mkdir -p "$cache"
  cd "$root"
  key=$({ cat $(ecp5_files $lists) $files ${generated:+"$generated"/*} fpga/boards/ecp5.sh; echo "$top $parameters"; "$yosys" -V; } | sha256sum | cut -c1-32)
  netlist=$cache/$key.json.gz
  for seed in $seeds; do
    key=$({ echo "$netlist $title $device $seed $options"; cat $pins fpga/boards/route_report.py; "$nextpnr" -V 2>&1; } | sha256sum | cut -c1-32)
    routes+=("$cache/$key")
    [[ ! -r $cache/$key ]] || continue
    ecp5_netlist
    while [[ $(jobs -pr | wc -l) -ge $(nproc) ]]; do wait -n || true; done
    # Each in a process group of its own, which ends with this script.
    set -m
    (ecp5_route "$cache/$key" "$seed") </dev/null &
    set +m
    jobs+=($!)
    trap 'kill -- ${jobs[*]/#/-} 2>/dev/null' EXIT
  done
  wait
  trap - EXIT
  made=""
  for key in "${routes[@]}"; do
    [[ -r $key ]] || continue
    [[ -n $made ]] || made=$key
    grep -q '^clock:.*too slow' "$key" || { made=$key; break; }
  done
  [[ -n $made ]] || exit 3
}

# A folder to work in, which the tools take for all there is.
ecp5_work() {
  work=$(mktemp -d) || fail 3 "no temporary folder"
  trap "rm -rf '$work'" EXIT
  cd "$work" || fail 3 "no temporary folder"
}

# The netlist, unless it is there; who comes second waits for it. A route that fails does not lose it.
ecp5_netlist() {
  (
    local work list read="" bodies=""
    flock 9
    [[ ! -r $netlist ]] || exit 0
    echo "$(basename "$0" .sh): synthesis, place and route take 6 to 20 minutes of a processor" >&2
    ecp5_work
    cp -r "$root/rtl" "$root/fpga" ${generated:+"$generated"/*} "$work" || fail 3 "'$work' has no room for the sources"
    [[ -z ${generated:-} ]] || bodies="read_verilog -overwrite $(echo *.v); "
    for list in $lists; do read+=" -F $list"; done
    timeout "$limit" "$yosys" -q -p "read_slang -j 1 --top $top $parameters $read $files; ${bodies}synth_ecp5 -top $top -json core.json" \
      </dev/null >synth.log 2>&1 || { tail -n 3 synth.log >&2; fail 3 "yosys has failed, or not ended within $limit seconds"; }
    gzip -1 <core.json >"$netlist.tmp" && mv "$netlist.tmp" "$netlist" || fail 3 "'$netlist' cannot be written"
  ) 9>"$netlist.lock" || exit $?
}

ecp5_route() { # ecp5_route MADE SEED
  local work
  ecp5_work
  gzip -d <"$netlist" >core.json || fail 3 "'$netlist' is damaged; remove it"
  [[ -z $pins ]] || { cp "$root/$pins" pins.lpf && options+=" --lpf pins.lpf --textcfg core.config"; }
  # router2 does not converge on this core.
  timeout --foreground "$limit" "$nextpnr" "--$device" --timing-allow-fail --router router1 --seed "$2" $options \
    --json core.json --report report.json >route.log 2>&1 ||
    { grep -E 'ERROR|TRELLIS_COMB:' route.log | tail -n 3 >&2 || true; fail 3 "nextpnr has failed with seed $2, or not ended within $limit seconds"; }
  if [[ -n $pins ]]; then
    "$ecppack" --compress core.config core.bit >pack.log 2>&1 || { tail -n 3 pack.log >&2; fail 3 "ecppack has failed"; }
    mv core.bit "$1.bit"
  fi
  python3 "$root/fpga/boards/route_report.py" "$title" core.json report.json ${pins:+pins.lpf} >"$1.$$.tmp"
  mv "$1.$$.tmp" "$1"
}
