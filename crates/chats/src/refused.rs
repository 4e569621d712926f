//! Calls that a person refused or stopped: their records say so where no hook does.
//!
//! That is believed only of a result in a form that is known; whatever else stands in a record is no evidence.

use crate::agents;
use crate::error::Result;
use crate::form::Ends;
use crate::records::Records;
use crate::{Call, CallEnd, Places, check_session};

/// How much of the end of a record is looked at: first little, since that is mostly enough.
const LENGTHS: [u64; 2] = [256 << 10, 8 << 20];

/// Do the records of this agent say how such calls ended?
pub fn tells_ends(agent: &str) -> bool {
    ends_of(agent).is_some()
}

/// How a call ended, as the record of its conversation says; `None` where nothing there does.
pub fn end_of(agent: &str, places: Places<'_>, call: Call<'_>) -> Option<CallEnd> {
    look(ends_of(agent)?, places, call).ok()?
}

fn ends_of(agent: &str) -> Option<&'static Ends> {
    agents::form_of(agent)?.ends.as_ref()
}

fn look(ends: &Ends, places: Places<'_>, call: Call<'_>) -> Result<Option<CallEnd>> {
    check_session(call.session)?;
    let Some((dir, name)) = (ends.find)(places, call)? else { return Ok(None) };
    let records = Records::open(&dir, &name)?;
    for most in LENGTHS {
        let last = records.read_end(most)?;
        let told = (ends.tells)(&mut last.lines().rev(), call);
        if told.is_some() || last.is_all() {
            return Ok(told);
        }
    }
    Ok(None)
}
