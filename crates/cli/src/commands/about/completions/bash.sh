_clap_complete_NAME() {
    local between=$'\v' one at is_plain=yes
    local words=("${COMP_WORDS[@]}")
    if [[ ${BASH_VERSINFO[0]} -ge 4 ]]; then
        case ${COMP_WORDS[COMP_CWORD]} in
            [\"\']*) words[COMP_CWORD]="${COMP_WORDS[COMP_CWORD]:0:1}$2" ;;
            *) words[COMP_CWORD]=$2 ;;
        esac
    fi
    COMPREPLY=()
    while IFS= read -r -d "$between" one || [[ -n $one ]]; do
        COMPREPLY+=("$one")
        [[ $one == *[!a-zA-Z0-9_./:=@%+,-]* ]] && is_plain=no
    done < <(_CLAP_IFS="$between" _CLAP_COMPLETE_INDEX=$COMP_CWORD VAR=bash PROGRAM -- "${words[@]}")
    compopt +o nospace 2> /dev/null && [[ ${COMPREPLY-} =~ [=/:]$ ]] && compopt -o nospace
    if [[ $is_plain == no ]] && ! compopt -o filenames 2> /dev/null; then
        for at in "${!COMPREPLY[@]}"; do
            printf -v one %q "${COMPREPLY[at]}"
            COMPREPLY[at]=$one
        done
    fi
}
if [[ ${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 4 || ${BASH_VERSINFO[0]} -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _clap_complete_NAME BIN
else
    complete -o nospace -o bashdefault -F _clap_complete_NAME BIN
fi
