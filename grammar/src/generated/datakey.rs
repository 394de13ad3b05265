// auto-generated: "lalrpop 0.23.2"
// sha3: f3b012aaf056fa43c687b167e31d00e943df4c57f88383308768661257be07af
// features: 
use super::ast::{NumberStyle, Sign, Spec};
use super::format::{Parsed, Token};
#[allow(unused_extern_crates)]
extern crate lalrpop_util as __lalrpop_util;
#[allow(unused_imports)]
use self::__lalrpop_util::state_machine as __state_machine;
#[allow(unused_extern_crates)]
extern crate alloc;

#[rustfmt::skip]
#[allow(explicit_outlives_requirements, non_snake_case, non_camel_case_types, unused_mut, unused_variables, unused_imports, unused_parens, clippy::needless_lifetimes, clippy::type_complexity, clippy::needless_return, clippy::too_many_arguments, clippy::match_single_binding, clippy::clone_on_copy, clippy::unit_arg)]
mod __parse__Fields {

use super::super::ast::{NumberStyle, Sign, Spec};
use super::super::format::{Parsed, Token};
#[allow(unused_extern_crates)]
extern crate lalrpop_util as __lalrpop_util;
#[allow(unused_imports)]
use self::__lalrpop_util::state_machine as __state_machine;
#[allow(unused_extern_crates)]
extern crate alloc;
use super::__ToTriple;
#[allow(dead_code)]
pub(crate) enum __Symbol<>
 {
Variant0(Token),
Variant1(u8),
Variant2(u64),
Variant3(Sign),
Variant4(NumberStyle),
Variant5(Option<u64>),
Variant6(Option<NumberStyle>),
Variant7(Option<Sign>),
Variant8(usize),
Variant9(Parsed),
Variant10(alloc::vec::Vec<Parsed>),
Variant11(Vec<Parsed>),
Variant12(Spec),
}
const __ACTION: &[i8] = &[
// State 0
3,0,0,0,0,0,0,
// State 1
3,0,0,0,0,0,0,
// State 2
0,11,8,10,9,0,0,
// State 3
-10,0,0,0,0,0,0,
// State 4
0,0,0,0,0,0,0,
// State 5
-11,0,0,0,0,0,0,
// State 6
0,0,0,0,0,12,0,
// State 7
0,0,0,0,13,-26,0,
// State 8
0,0,0,0,0,-27,0,
// State 9
0,0,14,0,15,-24,0,
// State 10
0,0,16,18,17,-20,0,
// State 11
0,0,0,0,0,0,19,
// State 12
0,0,0,0,0,-25,0,
// State 13
0,0,0,0,20,-22,0,
// State 14
0,0,0,0,0,-23,0,
// State 15
0,0,0,0,21,-16,0,
// State 16
0,0,0,0,0,-18,0,
// State 17
0,0,22,0,23,-19,0,
// State 18
-9,0,0,0,0,0,0,
// State 19
0,0,0,0,0,-21,0,
// State 20
0,0,0,0,0,-14,0,
// State 21
0,0,0,0,24,-15,0,
// State 22
0,0,0,0,0,-17,0,
// State 23
0,0,0,0,0,-13,0,
];
fn __action(state: i8, integer: usize) -> i8 {
__ACTION[(state as usize) * 7 + integer]
}
const __EOF_ACTION: &[i8] = &[
// State 0
0,
// State 1
-12,
// State 2
0,
// State 3
-10,
// State 4
-28,
// State 5
-11,
// State 6
0,
// State 7
0,
// State 8
0,
// State 9
0,
// State 10
0,
// State 11
0,
// State 12
0,
// State 13
0,
// State 14
0,
// State 15
0,
// State 16
0,
// State 17
0,
// State 18
-9,
// State 19
0,
// State 20
0,
// State 21
0,
// State 22
0,
// State 23
0,
];
fn __goto(state: i8, nt: usize) -> i8 {
match nt {
5 => match state {
1 => 5,
_ => 3,
},
6 => 1,
7 => 4,
8 => 6,
_ => 0,
}
}
#[allow(clippy::needless_raw_string_hashes)]
const __TERMINAL: &[&str] = &[
r###""%""###,
r###""size""###,
r###""count""###,
r###""sign""###,
r###""show""###,
r###""blank""###,
r###""label""###,
];
fn __expected_tokens(__state: i8) -> alloc::vec::Vec<alloc::string::String> {
__TERMINAL.iter().enumerate().filter_map(|(index, terminal)| {
let next_state = __action(__state, index);
if next_state == 0 {
None
} else {
Some(alloc::string::ToString::to_string(terminal))
}
}).collect()
}
fn __expected_tokens_from_states<
>(
__states: &[i8],
_: core::marker::PhantomData<()>,
) -> alloc::vec::Vec<alloc::string::String>
{
__TERMINAL.iter().enumerate().filter_map(|(index, terminal)| {
if __accepts(None, __states, Some(index), core::marker::PhantomData::<()>) {
Some(alloc::string::ToString::to_string(terminal))
} else {
None
}
}).collect()
}
struct __StateMachine<>
where 
{
__phantom: core::marker::PhantomData<()>,
}
impl<> __state_machine::ParserDefinition for __StateMachine<>
where 
{
type Location = usize;
type Error = ();
type Token = Token;
type TokenIndex = usize;
type Symbol = __Symbol<>;
type Success = Vec<Parsed>;
type StateIndex = i8;
type Action = i8;
type ReduceIndex = i8;
type NonterminalIndex = usize;

#[inline]
fn start_location(&self) -> Self::Location {
  Default::default()
}

#[inline]
fn start_state(&self) -> Self::StateIndex {
  0
}

#[inline]
fn token_to_index(&self, token: &Self::Token) -> Option<usize> {
__token_to_integer(token, core::marker::PhantomData::<()>)
}

#[inline]
fn action(&self, state: i8, integer: usize) -> i8 {
__action(state, integer)
}

#[inline]
fn error_action(&self, state: i8) -> i8 {
__action(state, 7 - 1)
}

#[inline]
fn eof_action(&self, state: i8) -> i8 {
__EOF_ACTION[state as usize]
}

#[inline]
fn goto(&self, state: i8, nt: usize) -> i8 {
__goto(state, nt)
}

fn token_to_symbol(&self, token_index: usize, token: Self::Token) -> Self::Symbol {
__token_to_symbol(token_index, token, core::marker::PhantomData::<()>)
}

fn expected_tokens(&self, state: i8) -> alloc::vec::Vec<alloc::string::String> {
__expected_tokens(state)
}

fn expected_tokens_from_states(&self, states: &[i8]) -> alloc::vec::Vec<alloc::string::String> {
__expected_tokens_from_states(states, core::marker::PhantomData::<()>)
}

#[inline]
fn uses_error_recovery(&self) -> bool {
false
}

#[inline]
fn error_recovery_symbol(
&self,
recovery: __state_machine::ErrorRecovery<Self>,
) -> Self::Symbol {
panic!("error recovery not enabled for this grammar")
}

fn reduce(
&mut self,
action: i8,
start_location: Option<&Self::Location>,
states: &mut alloc::vec::Vec<i8>,
symbols: &mut alloc::vec::Vec<__state_machine::SymbolTriple<Self>>,
) -> Option<__state_machine::ParseResult<Self>> {
__reduce(
action,
start_location,
states,
symbols,
core::marker::PhantomData::<()>,
)
}

fn simulate_reduce(&self, action: i8) -> __state_machine::SimulatedReduce<Self> {
__simulate_reduce(action, core::marker::PhantomData::<()>)
}
}
fn __token_to_integer<
>(
__token: &Token,
_: core::marker::PhantomData<()>,
) -> Option<usize>
{
#[warn(unused_variables)]
match __token {
Token::Percent if true => Some(0),
Token::Size(_) if true => Some(1),
Token::Count(_) if true => Some(2),
Token::Sign(_) if true => Some(3),
Token::Show(_) if true => Some(4),
Token::Blank if true => Some(5),
Token::Label if true => Some(6),
_ => None,
}
}
fn __token_to_symbol<
>(
__token_index: usize,
__token: Token,
_: core::marker::PhantomData<()>,
) -> __Symbol<>
{
#[allow(clippy::manual_range_patterns)]match __token_index {
0 | 5 | 6 => __Symbol::Variant0(__token),
1 => match __token {
Token::Size(__tok0) if true => __Symbol::Variant1(__tok0),
_ => unreachable!(),
},
2 => match __token {
Token::Count(__tok0) if true => __Symbol::Variant2(__tok0),
_ => unreachable!(),
},
3 => match __token {
Token::Sign(__tok0) if true => __Symbol::Variant3(__tok0),
_ => unreachable!(),
},
4 => match __token {
Token::Show(__tok0) if true => __Symbol::Variant4(__tok0),
_ => unreachable!(),
},
_ => unreachable!(),
}
}
fn __simulate_reduce<
>(
__reduce_index: i8,
_: core::marker::PhantomData<()>,
) -> __state_machine::SimulatedReduce<__StateMachine<>>
{
match __reduce_index {
0 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 1,
nonterminal_produced: 0,
}
}
1 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 0,
nonterminal_produced: 0,
}
}
2 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 1,
nonterminal_produced: 1,
}
}
3 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 0,
nonterminal_produced: 1,
}
}
4 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 1,
nonterminal_produced: 2,
}
}
5 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 0,
nonterminal_produced: 2,
}
}
6 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 0,
nonterminal_produced: 3,
}
}
7 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 0,
nonterminal_produced: 4,
}
}
8 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 4,
nonterminal_produced: 5,
}
}
9 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 1,
nonterminal_produced: 6,
}
}
10 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 2,
nonterminal_produced: 6,
}
}
11 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 1,
nonterminal_produced: 7,
}
}
12 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 4,
nonterminal_produced: 8,
}
}
13 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 3,
nonterminal_produced: 8,
}
}
14 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 3,
nonterminal_produced: 8,
}
}
15 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 2,
nonterminal_produced: 8,
}
}
16 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 3,
nonterminal_produced: 8,
}
}
17 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 2,
nonterminal_produced: 8,
}
}
18 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 2,
nonterminal_produced: 8,
}
}
19 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 1,
nonterminal_produced: 8,
}
}
20 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 3,
nonterminal_produced: 8,
}
}
21 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 2,
nonterminal_produced: 8,
}
}
22 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 2,
nonterminal_produced: 8,
}
}
23 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 1,
nonterminal_produced: 8,
}
}
24 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 2,
nonterminal_produced: 8,
}
}
25 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 1,
nonterminal_produced: 8,
}
}
26 => {
__state_machine::SimulatedReduce::Reduce {
states_to_pop: 1,
nonterminal_produced: 8,
}
}
27 => __state_machine::SimulatedReduce::Accept,
_ => panic!("invalid reduction index {__reduce_index}")
}
}
pub struct FieldsParser {
_priv: (),
}

impl Default for FieldsParser { fn default() -> Self { Self::new() } }
impl FieldsParser {
pub fn new() -> FieldsParser {
FieldsParser {
_priv: (),
}
}

#[allow(dead_code)]
pub fn parse<
    __TOKEN: __ToTriple<>,
    __TOKENS: IntoIterator<Item=__TOKEN>,
>(
&self,
__tokens0: __TOKENS,
) -> Result<Vec<Parsed>, __lalrpop_util::ParseError<usize, Token, ()>>
{
let __tokens = __tokens0.into_iter();
let mut __tokens = __tokens.map(|t| __ToTriple::to_triple(t));
__state_machine::Parser::drive(
__StateMachine {
__phantom: core::marker::PhantomData::<()>,
},
__tokens,
)
}
}
fn __accepts<
>(
__error_state: Option<i8>,
__states: &[i8],
__opt_integer: Option<usize>,
_: core::marker::PhantomData<()>,
) -> bool
{
let mut __states = __states.to_vec();
__states.extend(__error_state);
loop {
let mut __states_len = __states.len();
let __top = __states[__states_len - 1];
let __action = match __opt_integer {
None => __EOF_ACTION[__top as usize],
Some(__integer) => __action(__top, __integer),
};
if __action == 0 { return false; }
if __action > 0 { return true; }
let (__to_pop, __nt) = match __simulate_reduce(-(__action + 1), core::marker::PhantomData::<()>) {
__state_machine::SimulatedReduce::Reduce {
states_to_pop, nonterminal_produced
} => (states_to_pop, nonterminal_produced),
__state_machine::SimulatedReduce::Accept => return true,
};
__states_len -= __to_pop;
__states.truncate(__states_len);
let __top = __states[__states_len - 1];
let __next_state = __goto(__top, __nt);
__states.push(__next_state);
}
}
fn __reduce<
>(
__action: i8,
__lookahead_start: Option<&usize>,
__states: &mut alloc::vec::Vec<i8>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> Option<Result<Vec<Parsed>,__lalrpop_util::ParseError<usize, Token, ()>>>
{
let (__pop_states, __nonterminal) = match __action {
0 => {
__reduce0(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
1 => {
__reduce1(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
2 => {
__reduce2(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
3 => {
__reduce3(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
4 => {
__reduce4(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
5 => {
__reduce5(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
6 => {
__reduce6(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
7 => {
__reduce7(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
8 => {
__reduce8(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
9 => {
__reduce9(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
10 => {
__reduce10(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
11 => {
__reduce11(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
12 => {
__reduce12(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
13 => {
__reduce13(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
14 => {
__reduce14(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
15 => {
__reduce15(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
16 => {
__reduce16(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
17 => {
__reduce17(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
18 => {
__reduce18(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
19 => {
__reduce19(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
20 => {
__reduce20(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
21 => {
__reduce21(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
22 => {
__reduce22(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
23 => {
__reduce23(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
24 => {
__reduce24(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
25 => {
__reduce25(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
26 => {
__reduce26(__lookahead_start, __symbols, core::marker::PhantomData::<()>)
}
27 => {
// __Fields = Fields => ActionFn(0);
let __sym0 = __pop_Variant11(__symbols);
let __start = __sym0.0.clone();
let __end = __sym0.2.clone();
let __nt = super::__action0::<>(__sym0);
return Some(Ok(__nt));
}
_ => panic!("invalid action code {__action}")
};
let __states_len = __states.len();
__states.truncate(__states_len - __pop_states);
let __state = *__states.last().unwrap();
let __next_state = __goto(__state, __nonterminal);
__states.push(__next_state);
None
}
#[inline(never)]
fn __symbol_type_mismatch() -> ! {
panic!("symbol type mismatch")
}
fn __pop_Variant4<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, NumberStyle, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant4(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __pop_Variant6<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, Option<NumberStyle>, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant6(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __pop_Variant7<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, Option<Sign>, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant7(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __pop_Variant5<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, Option<u64>, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant5(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __pop_Variant9<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, Parsed, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant9(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __pop_Variant3<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, Sign, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant3(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __pop_Variant12<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, Spec, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant12(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __pop_Variant0<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, Token, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant0(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __pop_Variant11<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, Vec<Parsed>, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant11(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __pop_Variant10<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, alloc::vec::Vec<Parsed>, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant10(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __pop_Variant2<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, u64, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant2(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __pop_Variant1<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, u8, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant1(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __pop_Variant8<
>(
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>
) -> (usize, usize, usize)
 {
match __symbols.pop() {
Some((__l, __Symbol::Variant8(__v), __r)) => (__l, __v, __r),
_ => __symbol_type_mismatch()
}
}
fn __reduce0<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// "count"? = "count" => ActionFn(9);
let __sym0 = __pop_Variant2(__symbols);
let __start = __sym0.0.clone();
let __end = __sym0.2.clone();
let __nt = super::__action9::<>(__sym0);
__symbols.push((__start, __Symbol::Variant5(__nt), __end));
(1, 0)
}
fn __reduce1<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// "count"? =  => ActionFn(10);
let __start = __lookahead_start.cloned().or_else(|| __symbols.last().map(|s| s.2.clone())).unwrap_or_default();
let __end = __start.clone();
let __nt = super::__action10::<>(&__start, &__end);
__symbols.push((__start, __Symbol::Variant5(__nt), __end));
(0, 0)
}
fn __reduce2<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// "show"? = "show" => ActionFn(7);
let __sym0 = __pop_Variant4(__symbols);
let __start = __sym0.0.clone();
let __end = __sym0.2.clone();
let __nt = super::__action7::<>(__sym0);
__symbols.push((__start, __Symbol::Variant6(__nt), __end));
(1, 1)
}
fn __reduce3<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// "show"? =  => ActionFn(8);
let __start = __lookahead_start.cloned().or_else(|| __symbols.last().map(|s| s.2.clone())).unwrap_or_default();
let __end = __start.clone();
let __nt = super::__action8::<>(&__start, &__end);
__symbols.push((__start, __Symbol::Variant6(__nt), __end));
(0, 1)
}
fn __reduce4<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// "sign"? = "sign" => ActionFn(11);
let __sym0 = __pop_Variant3(__symbols);
let __start = __sym0.0.clone();
let __end = __sym0.2.clone();
let __nt = super::__action11::<>(__sym0);
__symbols.push((__start, __Symbol::Variant7(__nt), __end));
(1, 2)
}
fn __reduce5<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// "sign"? =  => ActionFn(12);
let __start = __lookahead_start.cloned().or_else(|| __symbols.last().map(|s| s.2.clone())).unwrap_or_default();
let __end = __start.clone();
let __nt = super::__action12::<>(&__start, &__end);
__symbols.push((__start, __Symbol::Variant7(__nt), __end));
(0, 2)
}
fn __reduce6<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// @L =  => ActionFn(14);
let __start = __lookahead_start.cloned().or_else(|| __symbols.last().map(|s| s.2.clone())).unwrap_or_default();
let __end = __start.clone();
let __nt = super::__action14::<>(&__start, &__end);
__symbols.push((__start, __Symbol::Variant8(__nt), __end));
(0, 3)
}
fn __reduce7<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// @R =  => ActionFn(13);
let __start = __lookahead_start.cloned().or_else(|| __symbols.last().map(|s| s.2.clone())).unwrap_or_default();
let __end = __start.clone();
let __nt = super::__action13::<>(&__start, &__end);
__symbols.push((__start, __Symbol::Variant8(__nt), __end));
(0, 4)
}
fn __reduce8<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Field = "%", Spec, "blank", "label" => ActionFn(40);
assert!(__symbols.len() >= 4);
let __sym3 = __pop_Variant0(__symbols);
let __sym2 = __pop_Variant0(__symbols);
let __sym1 = __pop_Variant12(__symbols);
let __sym0 = __pop_Variant0(__symbols);
let __start = __sym0.0.clone();
let __end = __sym3.2.clone();
let __nt = super::__action40::<>(__sym0, __sym1, __sym2, __sym3);
__symbols.push((__start, __Symbol::Variant9(__nt), __end));
(4, 5)
}
fn __reduce9<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Field+ = Field => ActionFn(15);
let __sym0 = __pop_Variant9(__symbols);
let __start = __sym0.0.clone();
let __end = __sym0.2.clone();
let __nt = super::__action15::<>(__sym0);
__symbols.push((__start, __Symbol::Variant10(__nt), __end));
(1, 6)
}
fn __reduce10<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Field+ = Field+, Field => ActionFn(16);
assert!(__symbols.len() >= 2);
let __sym1 = __pop_Variant9(__symbols);
let __sym0 = __pop_Variant10(__symbols);
let __start = __sym0.0.clone();
let __end = __sym1.2.clone();
let __nt = super::__action16::<>(__sym0, __sym1);
__symbols.push((__start, __Symbol::Variant10(__nt), __end));
(2, 6)
}
fn __reduce11<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Fields = Field+ => ActionFn(1);
let __sym0 = __pop_Variant10(__symbols);
let __start = __sym0.0.clone();
let __end = __sym0.2.clone();
let __nt = super::__action1::<>(__sym0);
__symbols.push((__start, __Symbol::Variant11(__nt), __end));
(1, 7)
}
fn __reduce12<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "size", "sign", "count", "show" => ActionFn(31);
assert!(__symbols.len() >= 4);
let __sym3 = __pop_Variant4(__symbols);
let __sym2 = __pop_Variant2(__symbols);
let __sym1 = __pop_Variant3(__symbols);
let __sym0 = __pop_Variant1(__symbols);
let __start = __sym0.0.clone();
let __end = __sym3.2.clone();
let __nt = super::__action31::<>(__sym0, __sym1, __sym2, __sym3);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(4, 8)
}
fn __reduce13<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "size", "count", "show" => ActionFn(32);
assert!(__symbols.len() >= 3);
let __sym2 = __pop_Variant4(__symbols);
let __sym1 = __pop_Variant2(__symbols);
let __sym0 = __pop_Variant1(__symbols);
let __start = __sym0.0.clone();
let __end = __sym2.2.clone();
let __nt = super::__action32::<>(__sym0, __sym1, __sym2);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(3, 8)
}
fn __reduce14<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "size", "sign", "count" => ActionFn(33);
assert!(__symbols.len() >= 3);
let __sym2 = __pop_Variant2(__symbols);
let __sym1 = __pop_Variant3(__symbols);
let __sym0 = __pop_Variant1(__symbols);
let __start = __sym0.0.clone();
let __end = __sym2.2.clone();
let __nt = super::__action33::<>(__sym0, __sym1, __sym2);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(3, 8)
}
fn __reduce15<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "size", "count" => ActionFn(34);
assert!(__symbols.len() >= 2);
let __sym1 = __pop_Variant2(__symbols);
let __sym0 = __pop_Variant1(__symbols);
let __start = __sym0.0.clone();
let __end = __sym1.2.clone();
let __nt = super::__action34::<>(__sym0, __sym1);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(2, 8)
}
fn __reduce16<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "size", "sign", "show" => ActionFn(35);
assert!(__symbols.len() >= 3);
let __sym2 = __pop_Variant4(__symbols);
let __sym1 = __pop_Variant3(__symbols);
let __sym0 = __pop_Variant1(__symbols);
let __start = __sym0.0.clone();
let __end = __sym2.2.clone();
let __nt = super::__action35::<>(__sym0, __sym1, __sym2);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(3, 8)
}
fn __reduce17<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "size", "show" => ActionFn(36);
assert!(__symbols.len() >= 2);
let __sym1 = __pop_Variant4(__symbols);
let __sym0 = __pop_Variant1(__symbols);
let __start = __sym0.0.clone();
let __end = __sym1.2.clone();
let __nt = super::__action36::<>(__sym0, __sym1);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(2, 8)
}
fn __reduce18<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "size", "sign" => ActionFn(37);
assert!(__symbols.len() >= 2);
let __sym1 = __pop_Variant3(__symbols);
let __sym0 = __pop_Variant1(__symbols);
let __start = __sym0.0.clone();
let __end = __sym1.2.clone();
let __nt = super::__action37::<>(__sym0, __sym1);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(2, 8)
}
fn __reduce19<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "size" => ActionFn(38);
let __sym0 = __pop_Variant1(__symbols);
let __start = __sym0.0.clone();
let __end = __sym0.2.clone();
let __nt = super::__action38::<>(__sym0);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(1, 8)
}
fn __reduce20<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "sign", "count", "show" => ActionFn(25);
assert!(__symbols.len() >= 3);
let __sym2 = __pop_Variant4(__symbols);
let __sym1 = __pop_Variant2(__symbols);
let __sym0 = __pop_Variant3(__symbols);
let __start = __sym0.0.clone();
let __end = __sym2.2.clone();
let __nt = super::__action25::<>(__sym0, __sym1, __sym2);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(3, 8)
}
fn __reduce21<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "sign", "count" => ActionFn(26);
assert!(__symbols.len() >= 2);
let __sym1 = __pop_Variant2(__symbols);
let __sym0 = __pop_Variant3(__symbols);
let __start = __sym0.0.clone();
let __end = __sym1.2.clone();
let __nt = super::__action26::<>(__sym0, __sym1);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(2, 8)
}
fn __reduce22<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "sign", "show" => ActionFn(27);
assert!(__symbols.len() >= 2);
let __sym1 = __pop_Variant4(__symbols);
let __sym0 = __pop_Variant3(__symbols);
let __start = __sym0.0.clone();
let __end = __sym1.2.clone();
let __nt = super::__action27::<>(__sym0, __sym1);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(2, 8)
}
fn __reduce23<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "sign" => ActionFn(28);
let __sym0 = __pop_Variant3(__symbols);
let __start = __sym0.0.clone();
let __end = __sym0.2.clone();
let __nt = super::__action28::<>(__sym0);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(1, 8)
}
fn __reduce24<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "count", "show" => ActionFn(29);
assert!(__symbols.len() >= 2);
let __sym1 = __pop_Variant4(__symbols);
let __sym0 = __pop_Variant2(__symbols);
let __start = __sym0.0.clone();
let __end = __sym1.2.clone();
let __nt = super::__action29::<>(__sym0, __sym1);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(2, 8)
}
fn __reduce25<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "count" => ActionFn(30);
let __sym0 = __pop_Variant2(__symbols);
let __start = __sym0.0.clone();
let __end = __sym0.2.clone();
let __nt = super::__action30::<>(__sym0);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(1, 8)
}
fn __reduce26<
>(
__lookahead_start: Option<&usize>,
__symbols: &mut alloc::vec::Vec<(usize,__Symbol<>,usize)>,
_: core::marker::PhantomData<()>,
) -> (usize, usize)
{
// Spec = "show" => ActionFn(6);
let __sym0 = __pop_Variant4(__symbols);
let __start = __sym0.0.clone();
let __end = __sym0.2.clone();
let __nt = super::__action6::<>(__sym0);
__symbols.push((__start, __Symbol::Variant12(__nt), __end));
(1, 8)
}
}
#[allow(unused_imports)]
pub use self::__parse__Fields::FieldsParser;

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action0<
>(
(_, __0, _): (usize, Vec<Parsed>, usize),
) -> Vec<Parsed>
{
__0
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action1<
>(
(_, __0, _): (usize, alloc::vec::Vec<Parsed>, usize),
) -> Vec<Parsed>
{
__0
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action2<
>(
(_, start, _): (usize, usize, usize),
(_, _, _): (usize, Token, usize),
(_, spec, _): (usize, Spec, usize),
(_, _, _): (usize, Token, usize),
(_, label_start, _): (usize, usize, usize),
(_, _, _): (usize, Token, usize),
(_, end, _): (usize, usize, usize),
) -> Parsed
{
Parsed { spec, label: label_start..end, start }
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action3<
>(
(_, size, _): (usize, u8, usize),
(_, sign, _): (usize, Option<Sign>, usize),
(_, count, _): (usize, Option<u64>, usize),
(_, show, _): (usize, Option<NumberStyle>, usize),
) -> Spec
{
Spec { size: Some(size), sign, count, show }
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action4<
>(
(_, sign, _): (usize, Sign, usize),
(_, count, _): (usize, Option<u64>, usize),
(_, show, _): (usize, Option<NumberStyle>, usize),
) -> Spec
{
Spec { size: None, sign: Some(sign), count, show }
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action5<
>(
(_, count, _): (usize, u64, usize),
(_, show, _): (usize, Option<NumberStyle>, usize),
) -> Spec
{
Spec { size: None, sign: None, count: Some(count), show }
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action6<
>(
(_, show, _): (usize, NumberStyle, usize),
) -> Spec
{
Spec { size: None, sign: None, count: None, show: Some(show) }
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action7<
>(
(_, __0, _): (usize, NumberStyle, usize),
) -> Option<NumberStyle>
{
Some(__0)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action8<
>(
__lookbehind: &usize,
__lookahead: &usize,
) -> Option<NumberStyle>
{
None
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action9<
>(
(_, __0, _): (usize, u64, usize),
) -> Option<u64>
{
Some(__0)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action10<
>(
__lookbehind: &usize,
__lookahead: &usize,
) -> Option<u64>
{
None
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action11<
>(
(_, __0, _): (usize, Sign, usize),
) -> Option<Sign>
{
Some(__0)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action12<
>(
__lookbehind: &usize,
__lookahead: &usize,
) -> Option<Sign>
{
None
}

#[allow(clippy::needless_lifetimes)]
fn __action13<
>(
__lookbehind: &usize,
__lookahead: &usize,
) -> usize
{
*__lookbehind
}

#[allow(clippy::needless_lifetimes)]
fn __action14<
>(
__lookbehind: &usize,
__lookahead: &usize,
) -> usize
{
*__lookahead
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action15<
>(
(_, __0, _): (usize, Parsed, usize),
) -> alloc::vec::Vec<Parsed>
{
alloc::vec![__0]
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes, clippy::just_underscores_and_digits, clippy::extra_unused_type_parameters)]
fn __action16<
>(
(_, v, _): (usize, alloc::vec::Vec<Parsed>, usize),
(_, e, _): (usize, Parsed, usize),
) -> alloc::vec::Vec<Parsed>
{
{ let mut v = v; v.push(e); v }
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action17<
>(
__0: (usize, u8, usize),
__1: (usize, Option<Sign>, usize),
__2: (usize, u64, usize),
__3: (usize, Option<NumberStyle>, usize),
) -> Spec
{
let __start0 = __2.0.clone();
let __end0 = __2.2.clone();
let __temp0 = __action9(
__2,
);
let __temp0 = (__start0, __temp0, __end0);
__action3(
__0,
__1,
__temp0,
__3,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action18<
>(
__0: (usize, u8, usize),
__1: (usize, Option<Sign>, usize),
__2: (usize, Option<NumberStyle>, usize),
) -> Spec
{
let __start0 = __1.2.clone();
let __end0 = __2.0.clone();
let __temp0 = __action10(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
__action3(
__0,
__1,
__temp0,
__2,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action19<
>(
__0: (usize, Sign, usize),
__1: (usize, u64, usize),
__2: (usize, Option<NumberStyle>, usize),
) -> Spec
{
let __start0 = __1.0.clone();
let __end0 = __1.2.clone();
let __temp0 = __action9(
__1,
);
let __temp0 = (__start0, __temp0, __end0);
__action4(
__0,
__temp0,
__2,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action20<
>(
__0: (usize, Sign, usize),
__1: (usize, Option<NumberStyle>, usize),
) -> Spec
{
let __start0 = __0.2.clone();
let __end0 = __1.0.clone();
let __temp0 = __action10(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
__action4(
__0,
__temp0,
__1,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action21<
>(
__0: (usize, u8, usize),
__1: (usize, Option<Sign>, usize),
__2: (usize, u64, usize),
__3: (usize, NumberStyle, usize),
) -> Spec
{
let __start0 = __3.0.clone();
let __end0 = __3.2.clone();
let __temp0 = __action7(
__3,
);
let __temp0 = (__start0, __temp0, __end0);
__action17(
__0,
__1,
__2,
__temp0,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action22<
>(
__0: (usize, u8, usize),
__1: (usize, Option<Sign>, usize),
__2: (usize, u64, usize),
) -> Spec
{
let __start0 = __2.2.clone();
let __end0 = __2.2.clone();
let __temp0 = __action8(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
__action17(
__0,
__1,
__2,
__temp0,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action23<
>(
__0: (usize, u8, usize),
__1: (usize, Option<Sign>, usize),
__2: (usize, NumberStyle, usize),
) -> Spec
{
let __start0 = __2.0.clone();
let __end0 = __2.2.clone();
let __temp0 = __action7(
__2,
);
let __temp0 = (__start0, __temp0, __end0);
__action18(
__0,
__1,
__temp0,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action24<
>(
__0: (usize, u8, usize),
__1: (usize, Option<Sign>, usize),
) -> Spec
{
let __start0 = __1.2.clone();
let __end0 = __1.2.clone();
let __temp0 = __action8(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
__action18(
__0,
__1,
__temp0,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action25<
>(
__0: (usize, Sign, usize),
__1: (usize, u64, usize),
__2: (usize, NumberStyle, usize),
) -> Spec
{
let __start0 = __2.0.clone();
let __end0 = __2.2.clone();
let __temp0 = __action7(
__2,
);
let __temp0 = (__start0, __temp0, __end0);
__action19(
__0,
__1,
__temp0,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action26<
>(
__0: (usize, Sign, usize),
__1: (usize, u64, usize),
) -> Spec
{
let __start0 = __1.2.clone();
let __end0 = __1.2.clone();
let __temp0 = __action8(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
__action19(
__0,
__1,
__temp0,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action27<
>(
__0: (usize, Sign, usize),
__1: (usize, NumberStyle, usize),
) -> Spec
{
let __start0 = __1.0.clone();
let __end0 = __1.2.clone();
let __temp0 = __action7(
__1,
);
let __temp0 = (__start0, __temp0, __end0);
__action20(
__0,
__temp0,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action28<
>(
__0: (usize, Sign, usize),
) -> Spec
{
let __start0 = __0.2.clone();
let __end0 = __0.2.clone();
let __temp0 = __action8(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
__action20(
__0,
__temp0,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action29<
>(
__0: (usize, u64, usize),
__1: (usize, NumberStyle, usize),
) -> Spec
{
let __start0 = __1.0.clone();
let __end0 = __1.2.clone();
let __temp0 = __action7(
__1,
);
let __temp0 = (__start0, __temp0, __end0);
__action5(
__0,
__temp0,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action30<
>(
__0: (usize, u64, usize),
) -> Spec
{
let __start0 = __0.2.clone();
let __end0 = __0.2.clone();
let __temp0 = __action8(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
__action5(
__0,
__temp0,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action31<
>(
__0: (usize, u8, usize),
__1: (usize, Sign, usize),
__2: (usize, u64, usize),
__3: (usize, NumberStyle, usize),
) -> Spec
{
let __start0 = __1.0.clone();
let __end0 = __1.2.clone();
let __temp0 = __action11(
__1,
);
let __temp0 = (__start0, __temp0, __end0);
__action21(
__0,
__temp0,
__2,
__3,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action32<
>(
__0: (usize, u8, usize),
__1: (usize, u64, usize),
__2: (usize, NumberStyle, usize),
) -> Spec
{
let __start0 = __0.2.clone();
let __end0 = __1.0.clone();
let __temp0 = __action12(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
__action21(
__0,
__temp0,
__1,
__2,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action33<
>(
__0: (usize, u8, usize),
__1: (usize, Sign, usize),
__2: (usize, u64, usize),
) -> Spec
{
let __start0 = __1.0.clone();
let __end0 = __1.2.clone();
let __temp0 = __action11(
__1,
);
let __temp0 = (__start0, __temp0, __end0);
__action22(
__0,
__temp0,
__2,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action34<
>(
__0: (usize, u8, usize),
__1: (usize, u64, usize),
) -> Spec
{
let __start0 = __0.2.clone();
let __end0 = __1.0.clone();
let __temp0 = __action12(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
__action22(
__0,
__temp0,
__1,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action35<
>(
__0: (usize, u8, usize),
__1: (usize, Sign, usize),
__2: (usize, NumberStyle, usize),
) -> Spec
{
let __start0 = __1.0.clone();
let __end0 = __1.2.clone();
let __temp0 = __action11(
__1,
);
let __temp0 = (__start0, __temp0, __end0);
__action23(
__0,
__temp0,
__2,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action36<
>(
__0: (usize, u8, usize),
__1: (usize, NumberStyle, usize),
) -> Spec
{
let __start0 = __0.2.clone();
let __end0 = __1.0.clone();
let __temp0 = __action12(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
__action23(
__0,
__temp0,
__1,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action37<
>(
__0: (usize, u8, usize),
__1: (usize, Sign, usize),
) -> Spec
{
let __start0 = __1.0.clone();
let __end0 = __1.2.clone();
let __temp0 = __action11(
__1,
);
let __temp0 = (__start0, __temp0, __end0);
__action24(
__0,
__temp0,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action38<
>(
__0: (usize, u8, usize),
) -> Spec
{
let __start0 = __0.2.clone();
let __end0 = __0.2.clone();
let __temp0 = __action12(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
__action24(
__0,
__temp0,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action39<
>(
__0: (usize, Token, usize),
__1: (usize, Spec, usize),
__2: (usize, Token, usize),
__3: (usize, Token, usize),
__4: (usize, usize, usize),
) -> Parsed
{
let __start0 = __0.0.clone();
let __end0 = __0.0.clone();
let __start1 = __2.2.clone();
let __end1 = __3.0.clone();
let __temp0 = __action14(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
let __temp1 = __action14(
&__start1,
&__end1,
);
let __temp1 = (__start1, __temp1, __end1);
__action2(
__temp0,
__0,
__1,
__2,
__temp1,
__3,
__4,
)
}

#[allow(clippy::too_many_arguments, clippy::needless_lifetimes,
    clippy::just_underscores_and_digits, clippy::clone_on_copy, clippy::unit_arg)]
fn __action40<
>(
__0: (usize, Token, usize),
__1: (usize, Spec, usize),
__2: (usize, Token, usize),
__3: (usize, Token, usize),
) -> Parsed
{
let __start0 = __3.2.clone();
let __end0 = __3.2.clone();
let __temp0 = __action13(
&__start0,
&__end0,
);
let __temp0 = (__start0, __temp0, __end0);
__action39(
__0,
__1,
__2,
__3,
__temp0,
)
}

#[allow(clippy::type_complexity, dead_code)]
pub trait __ToTriple<>
{
fn to_triple(self) -> Result<(usize,Token,usize), __lalrpop_util::ParseError<usize, Token, ()>>;
}

impl<> __ToTriple<> for (usize, Token, usize)
{
fn to_triple(self) -> Result<(usize,Token,usize), __lalrpop_util::ParseError<usize, Token, ()>> {
Ok(self)
}
}
impl<> __ToTriple<> for Result<(usize, Token, usize), ()>
{
fn to_triple(self) -> Result<(usize,Token,usize), __lalrpop_util::ParseError<usize, Token, ()>> {
self.map_err(|error| __lalrpop_util::ParseError::User { error })
}
}
