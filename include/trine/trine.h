/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of trine's public face. A program describes a run (run.h), may look at its plan, launches
 * ranks (launch.h) and on each of them trains (pretrain.h), or makes a session (session.h) and
 * evaluates (evaluate.h), scores given tokens (score.h) or generates (generate.h). hooks.h has what a
 * user may replace, spec.h what a model provider makes, extension.h a module of one's own. examples/
 * has a program for each use.
 */
#pragma once

#include "trine/cancel.h"
#include "trine/error.h"
#include "trine/evaluate.h"
#include "trine/extension.h"
#include "trine/generate.h"
#include "trine/hooks.h"
#include "trine/launch.h"
#include "trine/microbatch.h"
#include "trine/pretrain.h"
#include "trine/run.h"
#include "trine/score.h"
#include "trine/session.h"
#include "trine/spec.h"
#include "trine/status.h"
#include "trine/tokens.h"
