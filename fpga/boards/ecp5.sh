#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fpga/route.sh and fpga/build.sh source this file. It provides synthesis, place and route for Lattice ECP5, a report,
# and a cache of the results. The caller defines root and fail.

# Prints the parameters of a configuration as options of read_slang.
ecp5_parameters() { # ecp5_parameters CONFIGURATION
  local found=""
  [[ ! $1 =~ ^[a-z0-9-]+$ ]] || found=$(sed -n "s/^set(UFP4_CONFIGURATION_$1 \(.*\))$/\1/p" "$root/rtl/gen/configurations.cmake")
  [[ -n $found ]] || fail 2 "no configuration is called '$1'"
  echo "$found"
}

# Sets yosys, nextpnr and ecppack to the paths of the tools. The launcher installs missing ones.
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

# Reads the board.sh of a board for a configuration and a size, such as 25F; an empty size means the default. Sets the
# variables of board.sh (device, sizes, package, speed, loader, files, parameters, and made_by if a script generates
# more Verilog), size_name, and bitstream, the name of its file.
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

# Prints the lists and the files that they name.
ecp5_files() { # ecp5_files LIST...
  local list
  for list in "$@"; do
    echo "$list"
    sed "/^\/\//d;/^$/d;s|^|$(dirname "$list")/|" "$list"
  done
}

# Synthesizes and routes unless CACHE/KEY exists; KEY is a hash of sources, options and tools. Writes the report to CACHE/KEY,
# and with PINS the bitstream to KEY.bit. Seeds are routed in parallel; made is the first result that meets every clock, or
# else the first. LISTS and FILES are below root. If the caller has set generated, the Verilog in that folder replaces
# modules without a body, and may read the other files there.
#   ecp5_make TITLE TOP "PARAMETERS" "LISTS" "FILES" DEVICE "SEED ..." "NEXTPNR OPTIONS" [PINS]
ecp5_make() {
  local title=$1 top=$2 parameters=$3 lists=$4 files=$5 device=$6 seeds=$7 options=$8 pins=${9:-} limit=${UFP4_ROUTE_SECONDS:-3600}
  local cache netlist seed key jobs=()
  routes=()
  # Resolved before cd, because XDG_CACHE_HOME may be relative.
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
    # Each route gets a process group of its own, which the trap ends with this script.
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

# Changes to a new temporary folder, because the tools see only files below the current folder.
ecp5_work() {
  work=$(mktemp -d) || fail 3 "cannot make a temporary folder"
  trap "rm -rf '$work'" EXIT
  cd "$work" || fail 3 "cannot enter '$work'"
}

# Makes the netlist unless it exists. A second process waits for the first one. A route that fails keeps the netlist.
ecp5_netlist() {
  (
    local work list read="" bodies=""
    flock 9
    [[ ! -r $netlist ]] || exit 0
    echo "$(basename "$0" .sh): synthesis, place and route take 6 to 20 minutes of processor time" >&2
    ecp5_work
    cp -r "$root/rtl" "$root/fpga" ${generated:+"$generated"/*} "$work" || fail 3 "cannot copy the sources to '$work'"
    [[ -z ${generated:-} ]] || bodies="read_verilog -overwrite $(echo *.v); "
    for list in $lists; do read+=" -F $list"; done
    timeout "$limit" "$yosys" -q -p "read_slang -j 1 --top $top $parameters $read $files; ${bodies}synth_ecp5 -top $top -json core.json" \
      </dev/null >synth.log 2>&1 || { tail -n 3 synth.log >&2; fail 3 "yosys failed, or did not end within $limit seconds"; }
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
    { grep -E 'ERROR|TRELLIS_COMB:' route.log | tail -n 3 >&2 || true; fail 3 "nextpnr failed with seed $2, or did not end within $limit seconds"; }
  if [[ -n $pins ]]; then
    "$ecppack" --compress core.config core.bit >pack.log 2>&1 || { tail -n 3 pack.log >&2; fail 3 "ecppack failed"; }
    mv core.bit "$1.bit"
  fi
  python3 "$root/fpga/boards/route_report.py" "$title" core.json report.json ${pins:+pins.lpf} >"$1.$$.tmp"
  mv "$1.$$.tmp" "$1"
}
