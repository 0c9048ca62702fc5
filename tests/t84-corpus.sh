#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes an invented text of SIZE bytes and a little more to standard output, the same on every machine:
# words of two or three syllables, often used ones first, each with a few that like to follow it.
# Usage: t84-corpus.sh SIZE
exec awk -v size="$1" '
    function draw(below) {
        state = state * 16807 % 2147483647
        return state % below
    }
    BEGIN {
        state = 20240229
        num = split("ba be da do fe ga hi ko la lo mi mu na ne pa ri ro sa shi ta the to ur vo za", syllable, " ")
        for (i = 0; i < 900; i++) {
            word[i] = ""
            for (k = i < 60 ? draw(2) : 1 + draw(2); k >= 0; k--)
                word[i] = word[i] syllable[1 + draw(num)]
            for (k = 0; k < 4; k++)
                next_word[i, k] = draw(1 + draw(1 + draw(900)))
        }
        while (written < size) {
            line = ""
            at = draw(60)
            for (i = 5 + draw(14); i > 0; i--) {
                line = line (line == "" ? "" : " ") word[at] (i > 1 && draw(9) == 0 ? "," : "")
                at = draw(4) ? next_word[at, draw(4)] : draw(1 + draw(900))
            }
            number++
            line = int(number / 30) + 1 ":" number % 30 + 1 " " toupper(substr(line, 1, 1)) substr(line, 2) "."
            print line
            written += length(line) + 1
        }
    }'
